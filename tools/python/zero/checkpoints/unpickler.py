"""An unpickler that makes what it knows, and refuses every other name.

A pickle names functions and classes that are called when it is read. Here a name is a
key of a table: none is imported, and what the table has in its place computes nothing.
Each unpickler has classes of its own, so that a file can change no other's.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import Any, Callable

from zero.checkpoints.errors import CheckpointError


class Record:
    """An object of a class that is not there: its state are its attributes."""

    def __init__(self, *arguments, **named):
        self.arguments = arguments
        self.__dict__.update(named)

    def __setstate__(self, state):
        if isinstance(state, tuple):
            self.state = state
        else:
            self.__dict__.update(state)


_DTYPES = (
    "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 bool complex64 complex128"
).split()
_STORAGES = (
    "Float Double Half BFloat16 Long Int Short Char Byte Bool ComplexFloat ComplexDouble"
).split()
# Objects whose attributes may be read, or that nobody looks at.
_RECORDS = {
    "deepspeed.runtime.fp16.loss_scaler": ("LossScaler", "DynamicLossScaler"),
    "deepspeed.runtime.zero.config": ("ZeroStageEnum",),
    "deepspeed.utils.tensor_fragment": ("fragment_address",),
    "torch.distributed.checkpoint.metadata": (
        "BytesStorageMetadata",
        "ChunkStorageMetadata",
        "Metadata",
        "MetadataIndex",
        "StorageMeta",
        "TensorProperties",
        "TensorStorageMetadata",
        "_MEM_FORMAT_ENCODING",
    ),
    "torch.distributed.checkpoint.filesystem": ("_StorageInfo", "StorageMeta"),
    "torch.serialization": ("_get_layout",),
    "torch": ("device", "Generator", "memory_format"),
    "argparse": ("Namespace",),
    "pathlib": ("Path", "PosixPath", "PurePosixPath"),
    "pathlib._local": ("PosixPath",),
    "numpy": ("dtype", "ndarray"),
    "numpy.core.multiarray": ("_reconstruct", "scalar"),
    "numpy._core.multiarray": ("_reconstruct", "scalar"),
    "_codecs": ("encode",),
}


class Unpickler(pickle.Unpickler):
    """Reads one pickle of `torch.save`. `storage(kind, key, elements)` finds elements,
    and `tensor(storage, offset, shape, strides)` makes a tensor of them."""

    def __init__(self, file, path: str, storage: Callable, tensor: Callable):
        super().__init__(file)
        self.path, self.storage = path, storage
        self.table: dict[tuple[str, str], Any] = _table(tensor)

    def load_checked(self) -> Any:
        """As `load`; what is wrong is one error that names the file."""
        try:
            return self.load()
        except CheckpointError:
            raise
        except Exception as error:
            # A damaged pickle fails in any way.
            raise CheckpointError(
                f"{self.path}: its pickle cannot be read: {type(error).__name__}: {error}"
            ) from None

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.table[module, name]
        except KeyError:
            raise CheckpointError(
                f"{self.path}: names '{module}.{name}', which is not read: a pickle may run "
                "what it names. Save the checkpoint again without this object"
            ) from None

    def persistent_load(self, saved: Any) -> Any:
        kind, storage, key, _, elements = saved
        if kind != "storage" or not isinstance(storage, str):
            raise CheckpointError(f"{self.path}: has an object of the unknown kind {kind!r}")
        return self.storage(storage, str(key), int(elements))


def _table(tensor: Callable) -> dict[tuple[str, str], Any]:
    def rebuild(storage, offset, shape, strides, *_):
        return tensor(storage, offset, shape, strides)

    def parameter(data, *_):
        return data

    def of_type(function, _, arguments, *__):
        return function(*arguments)

    def size(values=()):
        return tuple(values)

    table: dict[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): OrderedDict,
        ("torch", "Size"): size,
        ("torch", "Tensor"): "Tensor",
        ("torch.nn.parameter", "Parameter"): "Parameter",
        ("torch", "strided"): "strided",
        ("torch._utils", "_rebuild_tensor_v2"): rebuild,
        ("torch._utils", "_rebuild_parameter"): parameter,
        ("torch._utils", "_rebuild_parameter_with_state"): parameter,
        ("torch._tensor", "_rebuild_from_type_v2"): of_type,
        ("builtins", "set"): lambda values=(): frozenset(values),
        ("builtins", "complex"): lambda *parts: parts,
        ("builtins", "bytearray"): lambda *parts: parts,
    }
    table.update((("torch", name), name) for name in _DTYPES)
    table.update((("torch", f"{name}Storage"), name) for name in _STORAGES)
    for module, names in _RECORDS.items():
        table.update(((module, name), type(name, (Record,), {})) for name in names)
    return table
