# SPDX-License-Identifier: Apache-2.0
"""All-reduce of many gradients with few calls."""
import ctypes
import sys
import threading
from itertools import accumulate

from hccl import _check, _library

__all__ = ["all_reduce_gradients"]

# HcclDataType by the format character of the buffer protocol.
_TYPES = {"b": 0, "h": 1, "i": 2, "e": 3, "f": 4, "q": 5, "Q": 6, "B": 7, "H": 8, "I": 9, "d": 10}
_TYPES["l"] = _TYPES["q" if ctypes.sizeof(ctypes.c_long) == 8 else "i"]
_TYPES["L"] = _TYPES["Q" if ctypes.sizeof(ctypes.c_long) == 8 else "I"]
_NAMES = ("int8", "int16", "int32", "float16", "float32", "int64", "uint64", "uint8", "uint16",
          "uint32", "float64")

_SUM = 0
_BY_INDEX = 1
_HOST_TO_DEVICE = 1
_DEVICE_TO_HOST = 2
_ALIGNMENT = 64  # of segments in device memory


class _Gradient:
    """One array: where its bytes are, and what they are."""

    def __init__(self, array, place):
        try:
            view = memoryview(array)
        except (TypeError, ValueError, BufferError) as error:
            raise ValueError(f"arrays[{place}] ({type(array).__name__}) does not offer its memory: "
                             f"{error}") from error
        kind = view.format.lstrip("@=<" if sys.byteorder == "little" else "@=>")
        if kind not in _TYPES:
            raise ValueError(f"arrays[{place}] has elements of format '{view.format}', which cannot "
                             f"be summed; there are {', '.join(_NAMES)}")
        if view.readonly:
            raise ValueError(f"arrays[{place}] is read-only; its sum has no place")
        if not view.c_contiguous:
            raise ValueError(
                f"arrays[{place}] has gaps between its elements; numpy.ascontiguousarray gives one "
                "without")
        self.type = _TYPES[kind]
        self.bytes = view.nbytes
        self.count = view.nbytes // view.itemsize
        self.view = view  # keeps the memory where it is
        self.address = (ctypes.addressof(ctypes.c_char.from_buffer(view)) if view.nbytes > 0 else 0)


def _strategy(name):
    """Kind and list of a group."""
    kind = ctypes.c_uint()
    segments = ctypes.c_uint()
    indices = sizes = None
    for room in (0, None):
        if room is None:
            room = segments.value
            indices = (ctypes.c_uint * room)()
            sizes = (ctypes.c_float * room)()
        code = _library.hcomm.weft_grad_fusion(name, room, ctypes.byref(kind),
                                               ctypes.byref(segments), indices, sizes)
        if code != 0:
            raise ValueError(f"all reduce gradients error. ret[{code}]") from _library.last_error(
                code)
    return kind.value, list(indices if kind.value == _BY_INDEX else sizes)


def _segments_by_index(ends, count):
    """One segment up to each index, and one for what is left."""
    if ends[-1] >= count:
        raise ValueError(f"the split strategy has index {ends[-1]}, there are {count} arrays: "
                         f"indices are 0..{count - 1}")
    return [last + 1 for last in ends] + [count]


def _segments_by_size(shares, sizes):
    """A gradient belongs to the segment that its middle byte is in."""
    total = sum(sizes)
    limits = [share * total / 100 for share in accumulate(shares)]
    ends = []
    start = begin = 0
    for limit in limits[:-1]:
        while start < len(sizes) and begin + sizes[start] / 2 < limit:
            begin += sizes[start]
            start += 1
        ends.append(start)
    return ends + [len(sizes)]


def _segments(strategy, sizes):
    """Ranges of gradients that are not empty, all of them together."""
    kind, values = strategy
    ends = (_segments_by_index(values, len(sizes)) if kind == _BY_INDEX
            else _segments_by_size(values, sizes))
    ranges = [range(begin, end) for begin, end in zip([0] + ends, ends)]
    return [each for each in ranges if each]


class _Fused:
    """Gradients of one segment and type: one call."""

    def __init__(self, indices, gradients, offset):
        self.indices = indices
        self.type = gradients[indices[0]].type
        self.count = sum(gradients[i].count for i in indices)
        self.bytes = sum(gradients[i].bytes for i in indices)
        self.offset = offset  # in device memory

    def __str__(self):
        return (f"gradients {self.indices[0]}..{self.indices[-1]}, {self.count} {_NAMES[self.type]}")


def _fuse(gradients, strategy):
    fused = []
    offset = 0
    for segment in _segments(strategy, [gradient.bytes for gradient in gradients]):
        by_type = {}
        for index in segment:
            if gradients[index].bytes > 0:
                by_type.setdefault(gradients[index].type, []).append(index)
        for indices in by_type.values():
            fused.append(_Fused(indices, gradients, offset))
            offset += -(-fused[-1].bytes // _ALIGNMENT) * _ALIGNMENT
    return fused, offset


class _Workspace:
    """Stream and memory of one thread on one device, kept for the next call."""

    def __init__(self):
        self._clear()

    def _clear(self):
        self.stream = ctypes.c_void_p()
        self.memory = ctypes.c_void_p()
        self.bytes = 0

    def reserve(self, size):
        acl = _library.acl()
        if not self.stream:
            _need_acl(acl.aclrtCreateStream(ctypes.byref(self.stream)), "a stream")
        if size <= self.bytes:
            return
        if self.memory:
            acl.aclrtFree(self.memory)
            self.memory = ctypes.c_void_p()
            self.bytes = 0
        _need_acl(acl.aclrtMalloc(ctypes.byref(self.memory), size, 0), f"{size} bytes of memory")
        self.bytes = size

    def release(self):
        acl = _library.acl()
        if self.memory:
            acl.aclrtFree(self.memory)
        if self.stream:
            acl.aclrtDestroyStream(self.stream)
        self._clear()

    def __del__(self):
        # Of a thread that has ended. At the end of the program all goes with the process.
        if not sys.is_finalizing():
            self.release()


_threads = threading.local()


def _workspace():
    device = ctypes.c_int32()
    _need_acl(_library.acl().aclrtGetDevice(ctypes.byref(device)), "the current device")
    if not hasattr(_threads, "by_device"):
        _threads.by_device = {}
    return _threads.by_device.setdefault(device.value, _Workspace())


def release():
    """Gives back what all_reduce_gradients() of this thread keeps for its next call."""
    for workspace in getattr(_threads, "by_device", {}).values():
        workspace.release()
    _threads.by_device = {}


def _need_acl(code, what):
    if code != 0:
        raise ValueError(f"all reduce gradients error: {what}. ret[{code}]"
                         ) from _library.last_acl_error(code)


def _communicator(name):
    comm = ctypes.c_void_p()
    code = _library.hcomm.HcclCommGetHandleWithName(name, ctypes.byref(comm))
    if code != 0:
        raise ValueError(f"all reduce gradients error. ret[{code}]") from _library.last_error(code)
    return comm


def _copy(fused, gradients, memory, direction):
    at = memory + fused.offset
    for index in fused.indices:
        gradient = gradients[index]
        pair = (at, gradient.address) if direction == _HOST_TO_DEVICE else (gradient.address, at)
        _need_acl(_library.acl().aclrtMemcpy(pair[0], gradient.bytes, pair[1], gradient.bytes,
                                             direction), f"copying gradient {index}")
        at += gradient.bytes


def all_reduce_gradients(arrays, group=_check.WORLD_GROUP):
    """Sums gradients over the ranks of a group, in place. Blocks until that is done.

    arrays: a list or tuple of writable arrays without gaps (NumPy arrays, array.array, whatever
    offers the buffer protocol), of integers or floating-point numbers, alike on all ranks. The
    group's split strategy (hccl.split.api) cuts the list into segments; each is one all-reduce, or
    one for each type of element in it. On all ranks the sums have the same bits.

    Returns which gradients were summed together: a list of lists of places in `arrays`.
    A ValueError leaves the arrays unchanged, unless copying the sums back is what failed.
    """
    name = _check.group_name(group)
    if not isinstance(arrays, (list, tuple)):
        raise ValueError("arrays must be a python list or tuple")
    gradients = [_Gradient(array, place) for place, array in enumerate(arrays)]
    comm = _communicator(name)
    strategy = _strategy(name)
    if not gradients:
        return []
    fused, size = _fuse(gradients, strategy)
    if not fused:
        return []
    acl = _library.acl()
    workspace = _workspace()
    workspace.reserve(size)
    memory = workspace.memory.value
    try:
        # A segment is copied while the one before is under way.
        for each in fused:
            _copy(each, gradients, memory, _HOST_TO_DEVICE)
            buffer = memory + each.offset
            code = _library.hcomm.HcclAllReduce(buffer, buffer, each.count, each.type, _SUM, comm,
                                                workspace.stream)
            if code != 0:
                raise ValueError(f"all reduce gradients error: {each}. ret[{code}]"
                                 ) from _library.last_error(code)
    except BaseException:  # also of a signal
        acl.aclrtSynchronizeStream(workspace.stream)  # the memory is used until then
        raise
    _need_acl(acl.aclrtSynchronizeStream(workspace.stream), "summing")
    for each in fused:
        _copy(each, gradients, memory, _DEVICE_TO_HOST)
    return [each.indices for each in fused]
