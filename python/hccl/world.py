# SPDX-License-Identifier: Apache-2.0
"""The world group of a program whose ranks are started by `weft run`, or by hand with the same
variables. Programs that make it by the C API need none of this.
"""
import os
import threading

from hccl import _library, fusion

__all__ = ["init", "finalize"]

_REPEATED = 100002  # aclInit: somebody has called it already

_thread = threading.local()  # .device: that init() has set


def _value(given, variable):
    if given is not None:
        return str(given)
    value = os.environ.get(variable)
    if not value:
        raise ValueError(f"{variable} is not set; start the ranks with `weft run`, or set it")
    return value


def _number(text, what):
    if not (text.isascii() and text.isdigit()) or int(text) > 0x7FFFFFFF:
        raise ValueError(f"{what} is '{text}', it must be a number from 0 on")
    return int(text)


def init(rank_table_file=None, rank_id=None, device_id=None):
    """Makes the world group; blocks until all ranks have come.

    What is not given comes from RANK_TABLE_FILE, RANK_ID and ASCEND_DEVICE_ID. The device becomes
    that of the calling thread: other threads set theirs with aclrtSetDevice.
    """
    table = _value(rank_table_file, "RANK_TABLE_FILE")
    rank = _number(_value(rank_id, "RANK_ID"), "rank_id")
    device = _number(_value(device_id, "ASCEND_DEVICE_ID"), "device_id")
    acl = _library.acl()
    code = acl.aclInit(None)
    if code not in (0, _REPEATED):
        raise ValueError(f"init of the runtime error. ret[{code}]") from _library.last_acl_error(
            code)
    code = acl.aclrtSetDevice(device)
    if code != 0:
        raise ValueError(f"set device {device} error. ret[{code}]") from _library.last_acl_error(
            code)
    code = _library.hcomm.HcomInitByFile(os.fsencode(table), str(rank).encode())
    if code != 0:
        cause = _library.last_error(code)
        acl.aclrtResetDevice(device)
        raise ValueError(f"init of the world group error. ret[{code}]") from cause
    _thread.device = device


def finalize():
    """Destroys the groups and the world group. Waits for nobody."""
    fusion.release()
    code = _library.hcomm.HcomDestroy()
    if code != 0:
        raise ValueError(
            f"destroy of the world group error. ret[{code}]") from _library.last_error(code)
    device = getattr(_thread, "device", None)
    if device is not None:
        _library.acl().aclrtResetDevice(device)
        _thread.device = None
