# SPDX-License-Identifier: Apache-2.0
"""How gradients are cut into segments, and which arrays hccl.fusion refuses."""
import array
import ctypes
import unittest

import numpy

from hccl import fusion

BY_INDEX, BY_SIZE = 1, 2


def cut(strategy, sizes):
    return [list(each) for each in fusion._segments(strategy, sizes)]


def fuse(arrays, strategy):
    gradients = [fusion._Gradient(each, place) for place, each in enumerate(arrays)]
    fused, size = fusion._fuse(gradients, strategy)
    return [(each.indices, each.type, each.count, each.offset) for each in fused], size


class Segments(unittest.TestCase):
    def test_an_index_is_the_last_of_its_segment(self):
        self.assertEqual(cut((BY_INDEX, [1, 2, 5]), [4] * 6), [[0, 1], [2], [3, 4, 5]])
        self.assertEqual(cut((BY_INDEX, [0]), [4] * 3), [[0], [1, 2]])
        self.assertEqual(cut((BY_INDEX, [2]), [4] * 3), [[0, 1, 2]])

    def test_an_index_beyond_the_arrays_is_refused(self):
        with self.assertRaisesRegex(ValueError, "index 3, there are 3 arrays"):
            cut((BY_INDEX, [1, 3]), [4] * 3)

    def test_shares_are_of_the_bytes(self):
        self.assertEqual(cut((BY_SIZE, [60, 40]), [10] * 10),
                         [list(range(6)), list(range(6, 10))])
        self.assertEqual(cut((BY_SIZE, [50, 50]), [90, 10, 10]), [[0], [1, 2]])
        # A middle byte decides where a gradient belongs that a limit runs through.
        self.assertEqual(cut((BY_SIZE, [50, 50]), [30, 50, 20]), [[0], [1, 2]])
        self.assertEqual(cut((BY_SIZE, [60, 40]), [30, 50, 20]), [[0, 1], [2]])

    def test_the_default_leaves_the_last_gradients_for_the_end(self):
        shares = (0, [96.54, 3.46])
        self.assertEqual(cut(shares, [1000] * 100), [list(range(97)), list(range(97, 100))])
        self.assertEqual(cut(shares, [1000] * 2), [[0, 1]])

    def test_segments_without_gradients_are_left_out(self):
        self.assertEqual(cut((BY_SIZE, [10, 10, 80]), [100]), [[0]])
        self.assertEqual(cut((BY_SIZE, [0, 100, 0]), [1, 2, 3]), [[0, 1, 2]])
        self.assertEqual(cut((BY_SIZE, [100]), []), [])

    def test_all_gradients_are_in_one_segment_in_their_order(self):
        random = numpy.random.default_rng(11)
        for _ in range(200):
            sizes = [int(size) for size in random.integers(0, 1000, random.integers(1, 30))]
            shares = random.random(random.integers(1, 8))
            shares = [float(share) for share in shares / shares.sum() * 100]
            segments = cut((BY_SIZE, shares), sizes)
            self.assertEqual(sum(segments, []), list(range(len(sizes))))
            self.assertLessEqual(len(segments), len(shares))


class Fused(unittest.TestCase):
    def test_a_segment_is_one_call_for_each_type_in_it(self):
        arrays = [numpy.zeros(3, numpy.float32), numpy.zeros((2, 2), numpy.float16),
                  numpy.zeros(5, numpy.float32), numpy.zeros(0, numpy.int64),
                  array.array("i", [1, 2]), (ctypes.c_double * 2)()]
        calls, size = fuse(arrays, (BY_INDEX, [2, 5]))
        self.assertEqual(calls, [([0, 2], 4, 8, 0), ([1], 3, 4, 64), ([4], 2, 2, 128),
                                 ([5], 10, 2, 192)])
        self.assertEqual(size, 256)

    def test_every_type_that_can_be_summed_is_known(self):
        types = {"int8": 0, "int16": 1, "int32": 2, "float16": 3, "float32": 4, "int64": 5,
                 "uint64": 6, "uint8": 7, "uint16": 8, "uint32": 9, "float64": 10}
        for name, number in types.items():
            calls, _ = fuse([numpy.zeros(7, name)], (BY_SIZE, [100]))
            self.assertEqual(calls, [([0], number, 7, 0)], name)


class Arrays(unittest.TestCase):
    def refused(self, text, *arrays):
        with self.assertRaisesRegex(ValueError, text):
            fusion.all_reduce_gradients(list(arrays))

    def test_what_cannot_be_summed_is_named(self):
        good = numpy.zeros(4, numpy.float32)
        read_only = numpy.zeros(4, numpy.float32)
        read_only.flags.writeable = False
        swapped = numpy.zeros(4, numpy.dtype(numpy.float32).newbyteorder())
        self.refused(r"arrays\[1\] \(list\) does not offer", good, [1.0, 2.0])
        self.refused(r"arrays\[1\] has elements of format '\?'", good, numpy.zeros(4, bool))
        self.refused(r"arrays\[0\] has elements of format 'Zd'", numpy.zeros(4, complex))
        self.refused(r"arrays\[0\] has elements of format", swapped)
        self.refused(r"arrays\[2\] is read-only", good, good, read_only)
        self.refused(r"arrays\[0\] is read-only", b"bytes")
        self.refused(r"arrays\[1\] has gaps.*ascontiguousarray", good,
                     numpy.zeros((4, 4), numpy.float32)[:, ::2])

    def test_the_list_is_a_list(self):
        for wrong in (None, numpy.zeros(4, numpy.float32), iter([])):
            with self.assertRaisesRegex(ValueError, "python list or tuple"):
                fusion.all_reduce_gradients(wrong)

    def test_the_group_is_checked(self):
        with self.assertRaisesRegex(ValueError, "group must be a python str"):
            fusion.all_reduce_gradients([], 7)
        with self.assertRaisesRegex(ValueError, r"all reduce gradients error. ret\[1\]"):
            fusion.all_reduce_gradients([numpy.zeros(4, numpy.float32)], "nobody")


if __name__ == "__main__":
    unittest.main()
