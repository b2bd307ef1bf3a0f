# SPDX-License-Identifier: Apache-2.0
"""Groups of a world of four ranks: who is in them, and what is refused."""
import numpy
from ranks import refused, run

from hccl import fusion, world
from hccl.manage import api
from hccl.split import api as split


def check_world(rank, ranks):
    assert api.get_rank_size() == ranks
    assert api.get_rank_id() == rank
    assert api.get_rank_size("hccl_world_group") == ranks
    assert api.get_local_rank_size() == ranks  # one server
    assert api.get_local_rank_id() == rank
    for each in range(ranks):
        assert api.get_world_rank_from_group_rank("hccl_world_group", each) == each
        assert api.get_group_rank_from_world_rank(each, "hccl_world_group") == each
    with refused("get world rank from group rank error. ret[1]") as said:
        api.get_world_rank_from_group_rank("hccl_world_group", ranks)
    assert f"groupRank is {ranks}" in said.cause
    with refused("get group rank from world rank error. ret[1]"):
        api.get_group_rank_from_world_rank(ranks, "hccl_world_group")


def check_refusals(rank, ranks):
    with refused("create group error:hccl_world_group"):
        api.create_group("hccl_world_group", 1, [rank])
    with refused("create group error:far") as said:
        api.create_group("far", 2, [rank, ranks])
    assert f"rankIds has {ranks}" in said.cause and "0..3" in said.cause
    with refused("create group error:others") as said:
        api.create_group("others", 1, [(rank + 1) % ranks])
    assert "without this rank" in said.cause
    with refused("create group error:twice") as said:
        api.create_group("twice", 3, [0, rank, rank] if rank != 0 else [0, 0, 1])
    assert "twice" in said.cause
    with refused("destroy group error :hccl_world_group"):
        api.destroy_group("hccl_world_group")
    with refused("destroy group error :nothing") as said:
        api.destroy_group("nothing")
    assert "'nothing'" in said.cause
    for function, what in ((api.get_rank_size, "rank size"), (api.get_rank_id, "rank id"),
                           (api.get_local_rank_size, "local rank size"),
                           (api.get_local_rank_id, "local rank id")):
        with refused(f"get {what} error. ret[6]"):
            function("nothing")
    with refused("set split strategy by idx error. ret[6]"):
        split.set_split_strategy_by_idx([1], "nothing")


def check_group(rank):
    """Ranks 3, 1 and 0, which stand in the list in another order on each rank."""
    listed = {0: [3, 1, 0], 1: [0, 1, 3], 3: [1, 3, 0]}
    if rank not in listed:
        with refused("get rank id error. ret[6]"):
            api.get_rank_id("three")
        return
    api.create_group("three", 3, listed[rank])
    with refused("create group error:three") as said:
        api.create_group("three", 3, listed[rank])
    assert "already" in said.cause
    members = [0, 1, 3]
    assert api.get_rank_size("three") == 3
    assert api.get_rank_id("three") == members.index(rank)
    assert api.get_local_rank_size("three") == 3
    assert api.get_local_rank_id("three") == members.index(rank)
    for group_rank, world_rank in enumerate(members):
        assert api.get_world_rank_from_group_rank("three", group_rank) == world_rank
        assert api.get_group_rank_from_world_rank(world_rank, "three") == group_rank
    with refused("get group rank from world rank error. ret[1]") as said:
        api.get_group_rank_from_world_rank(2, "three")
    assert "no member of 'three'" in said.cause
    with refused("get world rank from group rank error. ret[1]"):
        api.get_world_rank_from_group_rank("three", 3)
    data = numpy.full(5, rank + 1, numpy.int64)
    fusion.all_reduce_gradients([data], "three")
    assert (data == 1 + 2 + 4).all(), data
    api.destroy_group("three")
    with refused("get rank id error. ret[6]"):
        api.get_rank_id("three")
    # The name is free again, for other members.
    if rank != 3:
        api.create_group("three", 2, [1, 0])
        assert api.get_rank_size("three") == 2
        data = numpy.full(5, rank + 1, numpy.int32)
        fusion.all_reduce_gradients([data], "three")
        assert (data == 3).all(), data


def check_names(rank):
    """Any characters, up to 127 of them; a group of one; two groups of one name."""
    name = "!" * 127
    api.create_group(name, 1, [rank])
    assert api.get_rank_size(name) == 1
    half = rank // 2
    api.create_group("half", 2, [2 * half + 1, 2 * half])
    data = numpy.array([rank], numpy.float32)
    fusion.all_reduce_gradients([data], "half")
    assert data[0] == 4 * half + 1


def body(arguments, rank, ranks, wait):
    world.init(**arguments)
    with refused("init of the world group error. ret[7]") as said:
        world.init(**arguments)
    assert "HcomInitByFile" in said.cause, said.cause
    check_world(rank, ranks)
    check_refusals(rank, ranks)
    check_group(rank)
    check_names(rank)
    wait()
    world.finalize()  # with the groups that are left
    with refused("get rank size error. ret[15]") as said:
        api.get_rank_size()
    assert "aclrtSetDevice" in said.cause, said.cause
    world.init(**arguments)  # once more
    check_world(rank, ranks)
    with refused("get rank size error. ret[6]"):
        api.get_rank_size("half")
    wait()
    world.finalize()
    print(f"rank {rank}: all groups are right")


if __name__ == "__main__":
    run(body)
