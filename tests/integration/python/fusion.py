# SPDX-License-Identifier: Apache-2.0
"""all_reduce_gradients() in a world of four ranks: sums, segments, strategies, and what fails."""
import array
import ctypes
import threading

import numpy
from ranks import refused, run

from hccl import _library, fusion, world
from hccl.manage import api
from hccl.split import api as split

SHAPES = ((3, 5), (1000,), (), (0,), (17, 2, 3), (65537,))


def values(place, shape, kind, rank):
    """Depend on array, index and rank; small enough to be summed exactly in every type."""
    count = int(numpy.prod(shape, dtype=int))
    numbers = (numpy.arange(count) * 7 + place) % 5 + rank
    return numbers.astype(kind).reshape(shape)


def check_sums(kinds, rank, ranks, segments=None, group="hccl_world_group"):
    arrays = [values(i, shape, kinds[i % len(kinds)], rank) for i, shape in enumerate(SHAPES)]
    wanted = [sum(values(i, shape, kinds[i % len(kinds)], r).astype(float) for r in ranks)
              for i, shape in enumerate(SHAPES)]
    done = fusion.all_reduce_gradients(arrays, group)
    for place, (got, good) in enumerate(zip(arrays, wanted)):
        assert got.dtype == kinds[place % len(kinds)] and got.shape == SHAPES[place]
        assert (got.astype(float) == good).all(), f"array {place} is {got}, not {good}"
    assert segments is None or done == segments, f"segments are {done}, not {segments}"


def check_types(rank, ranks):
    for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                 "float32", "float64"):
        check_sums([kind], rank, ranks)
    check_sums(["float32", "float16", "int64"], rank, ranks)


def check_other_arrays(rank, ranks):
    """What is no NumPy array but offers its memory."""
    doubles = array.array("d", [rank, 2.5])
    shorts = (ctypes.c_short * 3)(rank, 1, 2)
    memory = bytearray([rank, 1])
    fusion.all_reduce_gradients((doubles, shorts, memory))
    assert list(doubles) == [sum(ranks), 2.5 * len(ranks)]
    assert list(shorts) == [sum(ranks), len(ranks), 2 * len(ranks)]
    assert list(memory) == [sum(ranks), len(ranks)]


def check_strategies(rank, ranks):
    """A strategy takes the place of the one before, of whichever kind they are."""
    floats = ["float32"]
    # 60, 4000, 4, 0, 408 and 262148 bytes: the middle of the last one lies in the first 96.54 %.
    check_sums(floats, rank, ranks, [[0, 1, 2, 4, 5]])
    split.set_split_strategy_by_idx([0, 3])
    check_sums(floats, rank, ranks, [[0], [1, 2], [4, 5]])
    split.set_split_strategy_by_idx([2, 4, 5])
    check_sums(floats, rank, ranks, [[0, 1, 2], [4], [5]])
    check_sums(["float32", "int32"], rank, ranks, [[0, 2], [1], [4], [5]])
    split.set_split_strategy_by_size([1.5, 98.5])
    check_sums(floats, rank, ranks, [[0, 1], [2, 4, 5]])
    split.set_split_strategy_by_size([70.3, 29.7])  # no floats in C are 100 together
    check_sums(floats, rank, ranks, [[0, 1, 2, 4, 5]])
    split.set_split_strategy_by_idx([0])
    check_sums(floats, rank, ranks, [[0], [1, 2, 4, 5]])
    # Each group has its own.
    api.create_group("all", len(ranks), list(ranks))
    split.set_split_strategy_by_idx([1], "all")
    check_sums(floats, rank, ranks, [[0, 1], [2, 4, 5]], "all")
    api.destroy_group("all")
    api.create_group("all", len(ranks), list(ranks))
    check_sums(floats, rank, ranks, [[0, 1, 2, 4, 5]], "all")  # and a new one none
    split.set_split_strategy_by_idx([9], "all")
    try:
        check_sums(floats, rank, ranks, group="all")
        raise AssertionError("index 9 of 6 arrays")
    except ValueError as error:
        assert "index 9, there are 6 arrays" in str(error)


def check_bits(rank, ranks):
    """Sums that depend on their order are the same everywhere."""
    random = numpy.random.default_rng(rank)
    mine = random.standard_normal(10007).astype(numpy.float32)
    total = mine.copy()
    fusion.all_reduce_gradients([total])
    checks = numpy.zeros(len(ranks), numpy.int64)
    checks[rank] = int(total.view(numpy.uint32).sum(dtype=numpy.int64))
    fusion.all_reduce_gradients([checks])
    assert (checks == checks[0]).all()


def check_differences(rank, ranks):
    """Ranks that pass different arrays all learn it, and keep theirs. Ends this group."""
    api.create_group("differ", len(ranks), list(ranks))
    data = values(0, (100 + rank,), "float32", rank)
    before = data.copy()
    try:
        fusion.all_reduce_gradients([data], "differ")
        raise AssertionError("arrays of different sizes were summed")
    except ValueError as error:
        assert "all reduce gradients error" in str(error), error
        assert "differ" in str(error.__cause__), error.__cause__
    assert (data == before).all()


def check_threads(rank):
    """A thread that has ended keeps no device memory."""
    acl = _library.acl()
    device = ctypes.c_int32()
    assert acl.aclrtGetDevice(ctypes.byref(device)) == 0
    api.create_group(f"alone{rank}", 1, [rank])

    def reduce(done):
        assert acl.aclrtSetDevice(device) == 0
        data = numpy.ones(1 << 20)
        fusion.all_reduce_gradients([data], f"alone{rank}")
        done.append(data.sum() == 1 << 20)

    def free_after_a_thread():
        done = []
        thread = threading.Thread(target=reduce, args=(done,))
        thread.start()
        thread.join()
        assert done == [True]
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        assert acl.aclrtGetMemInfo(0, ctypes.byref(free), ctypes.byref(total)) == 0
        return free.value

    first = free_after_a_thread()
    assert free_after_a_thread() >= first


def body(arguments, rank, ranks, wait):
    world.init(**arguments)
    everyone = range(ranks)
    assert fusion.all_reduce_gradients([]) == []
    assert fusion.all_reduce_gradients([numpy.zeros(0)]) == []
    check_strategies(rank, everyone)
    check_types(rank, everyone)
    check_other_arrays(rank, everyone)
    check_bits(rank, everyone)
    check_threads(rank)
    check_differences(rank, everyone)
    with refused("all reduce gradients error. ret[1]") as said:
        fusion.all_reduce_gradients([numpy.zeros(1)], "nobody")
    assert "'nobody'" in said.cause
    wait()
    world.finalize()
    print(f"rank {rank}: all sums are right")


if __name__ == "__main__":
    run(body)
