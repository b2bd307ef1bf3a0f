# SPDX-License-Identifier: Apache-2.0
"""Groups of ranks. All ranks of a group call what they call for it; others get a ValueError."""
import ctypes

from hccl import _check, _library

__all__ = [
    "create_group", "destroy_group", "get_rank_size", "get_rank_id", "get_local_rank_size",
    "get_local_rank_id", "get_world_rank_from_group_rank", "get_group_rank_from_world_rank",
]

_hcomm = _library.hcomm


def create_group(group, rank_num, rank_ids):
    """Makes a group of the ranks of the world that are listed; only they call this.

    Ranks of the group follow the order of those of the world, in whatever order the list has them.
    Does not wait for the others.
    """
    name = _check.group_name(group)
    if not isinstance(rank_num, int):
        raise ValueError("rank_num must be a python int")
    if rank_num <= 0:
        raise ValueError(f"rank_num[{rank_num}] is not greater than 0")
    if not isinstance(rank_ids, list):
        raise ValueError("rank_ids must be a python list")
    if len(rank_ids) != rank_num:
        raise ValueError(
            f"rank_num[{rank_num}] is not equal to the number of rank_ids[{len(rank_ids)}]")
    for rank in rank_ids:
        _check.rank_id(rank)
    ids = (ctypes.c_uint * rank_num)(*rank_ids)
    code = _hcomm.HcomCreateGroup(name, rank_num, ids)
    if code != 0:
        raise ValueError("create group error:" + group) from _library.last_error(code)


def destroy_group(group):
    """Destroys a group of create_group(); every member does. Waits for nobody."""
    name = _check.group_name(group)
    code = _hcomm.HcomDestroyGroup(name)
    if code != 0:
        raise ValueError("destroy group error :" + group) from _library.last_error(code)


def _ask(function, what, *arguments):
    """The number that a function of the library answers."""
    answer = ctypes.c_uint()
    code = function(*arguments, ctypes.byref(answer))
    if code != 0:
        raise ValueError(f"get {what} error. ret[{code}]") from _library.last_error(code)
    return answer.value


def get_rank_size(group=_check.WORLD_GROUP):
    """How many ranks a group has."""
    return _ask(_hcomm.HcomGetRankSize, "rank size", _check.group_name(group))


def get_rank_id(group=_check.WORLD_GROUP):
    """This rank's number in a group."""
    return _ask(_hcomm.HcomGetRankId, "rank id", _check.group_name(group))


def get_local_rank_size(group=_check.WORLD_GROUP):
    """How many ranks of a group are on one server: all ranks by all servers, rounded down."""
    return _ask(_hcomm.HcomGetLocalRankSize, "local rank size", _check.group_name(group))


def get_local_rank_id(group=_check.WORLD_GROUP):
    """This rank's number modulo the local size."""
    return _ask(_hcomm.HcomGetLocalRankId, "local rank id", _check.group_name(group))


def get_world_rank_from_group_rank(group, group_rank_id):
    """The number in the world of a rank of a group."""
    name = _check.group_name(group)
    _check.rank_id(group_rank_id)
    return _ask(_hcomm.HcomGetWorldRankFromGroupRank, "world rank from group rank", name,
                group_rank_id)


def get_group_rank_from_world_rank(world_rank_id, group):
    """The number in a group of a rank of the world, which must be a member."""
    _check.rank_id(world_rank_id)
    name = _check.group_name(group)
    return _ask(_hcomm.HcomGetGroupRankFromWorldRank, "group rank from world rank", world_rank_id,
                name)
