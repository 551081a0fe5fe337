"""The functions of runtime/capi/zero.h, by ctypes."""

from __future__ import annotations

import ctypes
import os
import tempfile
from ctypes import POINTER, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint64

from zero.errors import ArgumentError, Error, StateError
from zero.files import describe_error

API_VERSION = 9


class _Sized(ctypes.Structure):
    """A structure whose first field is its size."""

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(self), **fields)


class Model(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("stage", c_int32),
        ("ranks", c_int32),
        ("accumulation", c_int32),
        ("micro_batch", c_int64),
        ("update_samples", c_int64),
        ("inputs", c_int32),
        ("parameters", c_int32),
        ("deterministic", c_int32),
        ("outputs", c_int32),
        ("given_gradients", c_int32),
    ]


class TensorInfo(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("type", c_int32),
        ("dimensions", c_int32),
        ("shape", POINTER(c_int64)),
        ("elements", c_int64),
        ("trainable", c_int32),
        ("states", c_int32),
    ]


class Options(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("seed", c_uint64),
        ("threads", c_int32),
        ("overcommit", c_int32),
        ("loss_scale", c_double),
        ("timeout", c_double),
        ("weights", c_char_p),
        ("nvme_path", c_char_p),
        ("self_check", c_int64),
    ]


class Array(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("data", ctypes.c_void_p),
        ("type", c_int32),
        ("dimensions", c_int32),
        ("shape", POINTER(c_int64)),
    ]


class Gradient(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("micro_batch", c_int64),
        ("data", ctypes.c_void_p),
        ("type", c_int32),
        ("dimensions", c_int32),
        ("shape", POINTER(c_int64)),
    ]


class Result(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("data", ctypes.c_void_p),
        ("bytes", c_size_t),
    ]


class GroupRate(ctypes.Structure):
    _fields_ = [("group", c_char_p), ("rate", c_double)]


class UpdateInfo(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("update", c_int64),
        ("loss", c_double),
        ("gradient_norm", c_double),
        ("learning_rate", c_double),
        ("loss_scale", c_double),
        ("next_loss_scale", c_double),
        ("skipped", c_int32),
        ("seconds", c_double),
    ]


class Piece(ctypes.Structure):
    _fields_ = [("element", c_int64), ("count", c_int64)]


_RUN = ctypes.c_void_p
_FLOATS = POINTER(c_float)
_FUNCTIONS = {
    "zero_model_describe": [POINTER(Model)],
    "zero_model_input": [c_int32, POINTER(TensorInfo)],
    "zero_model_parameter": [c_int32, POINTER(TensorInfo)],
    "zero_model_output": [c_int32, POINTER(TensorInfo)],
    "zero_model_state": [c_int32, c_int32, POINTER(c_char_p)],
    "zero_run_create": [POINTER(Options), POINTER(_RUN)],
    "zero_run_open_data": [_RUN, c_char_p],
    "zero_run_describe_data": [_RUN, POINTER(Array), c_size_t, c_int64],
    "zero_run_order": [_RUN, c_int64, c_int64, c_int64, POINTER(c_int64)],
    "zero_run_step": [_RUN, POINTER(Array), c_size_t, POINTER(UpdateInfo)],
    "zero_run_notices": [_RUN, POINTER(c_char_p)],
    "zero_run_backward": [_RUN, POINTER(Array), c_size_t],
    "zero_run_step_gradients": [
        _RUN,
        POINTER(Array),
        c_size_t,
        POINTER(Gradient),
        c_size_t,
        POINTER(UpdateInfo),
    ],
    "zero_run_backward_gradients": [_RUN, POINTER(Array), c_size_t, POINTER(Gradient), c_size_t],
    "zero_run_update": [_RUN, POINTER(UpdateInfo)],
    "zero_run_set_learning_rate": [_RUN, c_double],
    "zero_run_set_learning_rates": [_RUN, POINTER(GroupRate), c_size_t],
    "zero_run_position": [_RUN, POINTER(c_int64), POINTER(c_int64)],
    "zero_run_evaluate": [_RUN, POINTER(Array), c_size_t, POINTER(c_double)],
    "zero_run_evaluate_outputs": [
        _RUN,
        POINTER(Array),
        c_size_t,
        POINTER(Result),
        c_size_t,
        POINTER(c_double),
    ],
    "zero_run_get_parameter": [_RUN, c_char_p, _FLOATS, c_int64],
    "zero_run_set_parameter": [_RUN, c_char_p, _FLOATS, c_int64],
    "zero_run_get_state": [_RUN, c_char_p, c_char_p, _FLOATS, c_int64],
    "zero_run_set_state": [_RUN, c_char_p, c_char_p, _FLOATS, c_int64],
    "zero_run_get_gradient": [_RUN, c_char_p, _FLOATS, c_int64],
    "zero_run_set_gradient": [_RUN, c_char_p, _FLOATS, c_int64],
    "zero_run_local_pieces": [
        _RUN,
        c_int32,
        c_char_p,
        c_char_p,
        POINTER(Piece),
        c_int64,
        POINTER(c_int64),
    ],
    "zero_run_get_local": [_RUN, c_int32, c_char_p, c_char_p, _FLOATS, c_int64],
    "zero_run_set_local": [_RUN, c_int32, c_char_p, c_char_p, _FLOATS, c_int64],
    "zero_run_save_weights": [_RUN, c_char_p],
    "zero_run_save_checkpoint": [_RUN, c_char_p, c_int64],
    "zero_run_load_checkpoint": [_RUN, c_char_p],
}
_ERRORS = {1: ArgumentError, 2: StateError, 3: Error, 4: MemoryError}


class Library:
    """A library that `zero-compile --emit=shared` wrote. `call` runs a function
    without the interpreter's lock and raises what it reports."""

    def __init__(self, path: str | os.PathLike):
        path = _absolute(os.fspath(path))
        try:
            # A library that is loaded is found again by its name, also where
            # the file is another one by now; a new name finds the file.
            with tempfile.TemporaryDirectory(prefix="zero-") as folder:
                link = os.path.join(folder, "step.so")
                os.symlink(path, link)
                self._library = self._open(path, link)
        except OSError as error:
            raise Error(f"'{path}' cannot be loaded: {describe_error(error)}") from None
        self._check_version(path)
        for name, arguments in _FUNCTIONS.items():
            getattr(self._library, name).argtypes = arguments
        self._library.zero_last_error.restype = c_char_p
        self._library.zero_run_destroy.argtypes = [_RUN]
        self._library.zero_run_destroy.restype = None

    def _open(self, path: str, link: str) -> ctypes.CDLL:
        try:
            return ctypes.CDLL(link)
        except OSError as error:
            raise Error(_no_library(path, error)) from None

    def _check_version(self, path: str) -> None:
        try:
            version = self._library.zero_api_version()
        except AttributeError as error:
            raise Error(_no_library(path, error)) from None
        if version < API_VERSION:
            raise Error(
                f"'{path}' has version {version} of the interface, wanted {API_VERSION}: "
                "compile the model again"
            )

    def call(self, function: str, *arguments) -> None:
        status = getattr(self._library, function)(*arguments)
        if status:
            message = self._library.zero_last_error().decode(errors="replace")
            raise _ERRORS.get(status, Error)(message)

    def destroy(self, run) -> None:
        self._library.zero_run_destroy(run)


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise Error(
            f"'{path}' is relative to the working directory, which was deleted: give an "
            "absolute path"
        ) from None


def _no_library(path: str, error: Exception) -> str:
    return f"'{path}' is no library of zero-compile --emit=shared: {error}"
