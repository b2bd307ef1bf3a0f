# SPDX-License-Identifier: Apache-2.0
"""What hccl.manage.api and hccl.split.api refuse before they call the library, and what they say
when that fails."""
import unittest

from hccl.manage import api as manage
from hccl.split import api as split

GROUP_FIRST = (
    lambda group: manage.create_group(group, 1, [0]),
    manage.destroy_group,
    manage.get_rank_size,
    manage.get_rank_id,
    manage.get_local_rank_size,
    manage.get_local_rank_id,
    lambda group: manage.get_world_rank_from_group_rank(group, 0),
    lambda group: manage.get_group_rank_from_world_rank(0, group),
    lambda group: split.set_split_strategy_by_idx([0], group),
    lambda group: split.set_split_strategy_by_size([100], group),
)


class Refusals(unittest.TestCase):
    def refused(self, text, function, *arguments):
        with self.assertRaises(ValueError) as caught:
            function(*arguments)
        self.assertEqual(str(caught.exception), text)
        return caught.exception

    def test_a_group_is_a_string(self):
        for function in GROUP_FIRST:
            for group in (None, 7, b"bytes", ["list"], True):
                self.refused("group must be a python str", function, group)

    def test_a_group_has_1_to_127_characters(self):
        for function in GROUP_FIRST:
            self.refused("group name is empty.", function, "")
            for group in ("n" * 128, "n" * 5000, "\u00fc" * 64, "a\0b"):
                self.refused("group name is invalid. group: " + group, function, group)

    def test_create_group_wants_a_number_of_ranks(self):
        for number in (None, "2", 2.0, [2]):
            self.refused("rank_num must be a python int", manage.create_group, "g", number, [0, 1])
        for number in (0, -1, False):
            self.refused(f"rank_num[{number}] is not greater than 0", manage.create_group, "g",
                         number, [])

    def test_create_group_wants_a_list_of_that_many_ranks(self):
        for ids in (None, (0, 1), "01", {0, 1}, range(2)):
            self.refused("rank_ids must be a python list", manage.create_group, "g", 2, ids)
        for ids in ([], [0], [0, 1, 2]):
            self.refused(f"rank_num[2] is not equal to the number of rank_ids[{len(ids)}]",
                         manage.create_group, "g", 2, ids)

    def test_rank_ids_are_numbers_from_0_on(self):
        for rank in (None, "1", 1.0):
            self.refused("rank_id must be a python int", manage.create_group, "g", 2, [0, rank])
            self.refused("rank_id must be a python int", manage.get_world_rank_from_group_rank,
                         "g", rank)
            self.refused("rank_id must be a python int", manage.get_group_rank_from_world_rank,
                         rank, "g")
        self.refused("rank_id[-1] is less than 0", manage.create_group, "g", 2, [0, -1])
        self.refused("rank_id[-5] is less than 0", manage.get_world_rank_from_group_rank, "g", -5)
        self.refused("rank_id[-5] is less than 0", manage.get_group_rank_from_world_rank, -5, "g")
        # Not 0, as a C function that gets its low 32 bits would read it.
        self.refused("rank_id[4294967296] is greater than 4294967295", manage.create_group, "g", 1,
                     [4294967296])

    def test_split_by_index_wants_ascending_numbers(self):
        by_idx = split.set_split_strategy_by_idx
        for indices in (None, (1, 2), "12", 5):
            self.refused("idxList must be a python list", by_idx, indices)
        self.refused("idxList is empty", by_idx, [])
        self.refused("idxList[1] must be a python int", by_idx, [1, 2.0])
        self.refused("idxList[0] is -1, it must be from 0 to 4294967295", by_idx, [-1, 2])
        self.refused("idxList[1] is 4294967296, it must be from 0 to 4294967295", by_idx,
                     [1, 4294967296])
        self.refused("idxList must be ascending: 3 follows 3", by_idx, [1, 3, 3])
        self.refused("idxList must be ascending: 2 follows 3", by_idx, [1, 3, 2])

    def test_split_by_size_wants_shares_that_are_100_together(self):
        by_size = split.set_split_strategy_by_size
        for sizes in (None, (50, 50), "100", 100):
            self.refused("dataSizeList must be a python list", by_size, sizes)
        self.refused("dataSizeList is empty", by_size, [])
        self.refused("dataSizeList[1] must be a python int or float", by_size, [50, "50"])
        self.refused("dataSizeList[1] is -1, it must not be less than 0", by_size, [101, -1])
        self.refused("dataSizeList[0] is nan, it must not be less than 0", by_size, [float("nan")])
        self.refused("the sum of dataSizeList is 99, it must be 100", by_size, [50, 49])
        self.refused("the sum of dataSizeList is 100.00000000000001, it must be 100", by_size,
                     [100.00000000000001])
        self.refused("the sum of dataSizeList is inf, it must be 100", by_size, [float("inf"), 1])

    def test_without_a_world_everything_fails_with_its_own_text(self):
        calls = {
            "create group error:g": (manage.create_group, "g", 1, [0]),
            "destroy group error :g": (manage.destroy_group, "g"),
            "get rank size error. ret[6]": (manage.get_rank_size,),
            "get rank id error. ret[6]": (manage.get_rank_id,),
            "get local rank size error. ret[6]": (manage.get_local_rank_size, "g"),
            "get local rank id error. ret[6]": (manage.get_local_rank_id, "g"),
            "get world rank from group rank error. ret[6]":
                (manage.get_world_rank_from_group_rank, "g", 0),
            "get group rank from world rank error. ret[6]":
                (manage.get_group_rank_from_world_rank, 0, "g"),
            "set split strategy by idx error. ret[6]": (split.set_split_strategy_by_idx, [True]),
            "set split strategy by size error. ret[6]": (split.set_split_strategy_by_size, [100]),
        }
        for text, (function, *arguments) in calls.items():
            cause = self.refused(text, function, *arguments).__cause__
            self.assertIn("world" if "create" in text else "group", str(cause))
            self.assertEqual(cause.code, 2 if "create" in text else 6)

    def test_the_longest_name_reaches_the_library(self):
        name = "n" * 127
        cause = self.refused("destroy group error :" + name, manage.destroy_group, name).__cause__
        self.assertIn(name, str(cause))


if __name__ == "__main__":
    unittest.main()
