# SPDX-License-Identifier: Apache-2.0
"""The C functions behind the package."""
import ctypes
import pathlib

_GROUP = ctypes.c_char_p
_UINT = ctypes.c_uint
_UINTS = ctypes.POINTER(ctypes.c_uint)
_FLOATS = ctypes.POINTER(ctypes.c_float)
_POINTER = ctypes.c_void_p
_POINTERS = ctypes.POINTER(ctypes.c_void_p)
_SIZE = ctypes.c_size_t

_HCOMM = {
    "HcomCreateGroup": (_GROUP, _UINT, _UINTS),
    "HcomDestroyGroup": (_GROUP,),
    "HcomGetRankSize": (_GROUP, _UINTS),
    "HcomGetRankId": (_GROUP, _UINTS),
    "HcomGetLocalRankSize": (_GROUP, _UINTS),
    "HcomGetLocalRankId": (_GROUP, _UINTS),
    "HcomGetWorldRankFromGroupRank": (_GROUP, _UINT, _UINTS),
    "HcomGetGroupRankFromWorldRank": (_UINT, _GROUP, _UINTS),
    "HcomSetGradFusionByIndex": (_GROUP, _UINT, _UINTS),
    "HcomSetGradFusionBySize": (_GROUP, _UINT, _FLOATS),
    "HcomInitByFile": (ctypes.c_char_p, ctypes.c_char_p),
    "HcomDestroy": (),
    "HcclCommGetHandleWithName": (_GROUP, _POINTERS),
    "HcclAllReduce": (_POINTER, _POINTER, ctypes.c_uint64, ctypes.c_int, ctypes.c_int, _POINTER,
                      _POINTER),
    "weft_grad_fusion": (_GROUP, _UINT, _UINTS, _UINTS, _UINTS, _FLOATS),
}

_ACL = {
    "aclInit": (ctypes.c_char_p,),
    "aclrtSetDevice": (ctypes.c_int32,),
    "aclrtResetDevice": (ctypes.c_int32,),
    "aclrtGetDevice": (ctypes.POINTER(ctypes.c_int32),),
    "aclrtMalloc": (_POINTERS, _SIZE, ctypes.c_int),
    "aclrtFree": (_POINTER,),
    "aclrtMemcpy": (_POINTER, _SIZE, _POINTER, _SIZE, ctypes.c_int),
    "aclrtCreateStream": (_POINTERS,),
    "aclrtDestroyStream": (_POINTER,),
    "aclrtSynchronizeStream": (_POINTER,),
    "aclrtSynchronizeStreamWithTimeout": (_POINTER, ctypes.c_int32),
}


def _load(name, functions):
    """The library of this installation, or where there is none, that of the loader's search path."""
    installed = pathlib.Path(__file__).resolve().parents[2] / "lib64" / name
    try:
        library = ctypes.CDLL(str(installed) if installed.exists() else name)
        for function, arguments in functions.items():
            getattr(library, function).argtypes = arguments
            getattr(library, function).restype = ctypes.c_int
    except (OSError, AttributeError) as error:
        raise ValueError("load hccl lib error") from error
    return library


hcomm = _load("libhcomm.so", _HCOMM)
hcomm.weft_last_error.argtypes = ()
hcomm.weft_last_error.restype = ctypes.c_char_p

_acl = None


def acl():
    """The device runtime, loaded when it is needed first."""
    global _acl
    if _acl is None:
        _acl = _load("libascendcl.so", _ACL)
        _acl.aclGetRecentErrMsg.argtypes = ()
        _acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    return _acl


class LibraryError(Exception):
    """What the library said about a call that failed: its text, and the code in .code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def last_error(code):
    """Of the calling thread's last call of libhcomm.so."""
    return LibraryError(code, (hcomm.weft_last_error() or b"").decode(errors="replace"))


def last_acl_error(code):
    """Of the calling thread's last call of libascendcl.so."""
    return LibraryError(code, (acl().aclGetRecentErrMsg() or b"").decode(errors="replace"))
