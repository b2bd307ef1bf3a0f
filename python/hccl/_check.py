# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments that several functions share. bool counts as int."""

WORLD_GROUP = "hccl_world_group"
MAX_GROUP_NAME_LEN = 127
MAX_UINT = 4294967295


def group_name(group):
    """The name as the library takes it."""
    if not isinstance(group, str):
        raise ValueError("group must be a python str")
    if not group:
        raise ValueError("group name is empty.")
    name = group.encode(errors="replace")
    if len(group) > MAX_GROUP_NAME_LEN or len(name) > MAX_GROUP_NAME_LEN or b"\0" in name:
        raise ValueError("group name is invalid. group: " + group)
    return name


def rank_id(rank):
    if not isinstance(rank, int):
        raise ValueError("rank_id must be a python int")
    if rank < 0:
        raise ValueError(f"rank_id[{rank}] is less than 0")
    if rank > MAX_UINT:
        raise ValueError(f"rank_id[{rank}] is greater than {MAX_UINT}")


def list_of(values, name):
    if not isinstance(values, list):
        raise ValueError(f"{name} must be a python list")
    if not values:
        raise ValueError(f"{name} is empty")
