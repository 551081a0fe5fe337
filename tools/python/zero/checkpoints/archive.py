"""Files of `torch.save`: zip archives of a pickle and of elements. They are read
without PyTorch and without running what they name: `unpickler` knows what may be there."""

from __future__ import annotations

import io
import math
import os
import zipfile
import zlib
from typing import Any

import numpy

from zero.checkpoints.errors import CheckpointError, reading, size_of
from zero.checkpoints.unpickler import Unpickler
from zero.files import open_file

# NumPy's types of PyTorch's storages; bf16 is widened by hand.
TYPES = {
    "Float": numpy.dtype("<f4"),
    "Double": numpy.dtype("<f8"),
    "Half": numpy.dtype("<f2"),
    "BFloat16": numpy.dtype("<u2"),
    "Long": numpy.dtype("<i8"),
    "Int": numpy.dtype("<i4"),
    "Short": numpy.dtype("<i2"),
    "Char": numpy.dtype("i1"),
    "Byte": numpy.dtype("u1"),
    "Bool": numpy.dtype("?"),
}
FLOATS = ("Float", "Double", "Half", "BFloat16")
_BLOCK = 16 << 20


def load(path: str | os.PathLike, start: int = 0, length: int | None = None) -> Any:
    """What `torch.save` wrote to a file, or to a range of it; tensors are `Stored`."""
    return Archive(os.fspath(path), start, length).load()


class Archive:
    """One archive; elements stay in the file until they are read."""

    def __init__(self, path: str, start: int, length: int | None):
        self.path, self.start = path, start
        size = size_of(path)
        self.length = size - start if length is None else length
        if start < 0 or self.length < 0 or start + self.length > size:
            raise CheckpointError(
                f"{path}: found {size} bytes, wanted {start + self.length}: the file is cut off"
            )
        try:
            self.zip = zipfile.ZipFile(_Range(path, start, self.length))
            names = [name for name in self.zip.namelist() if name.endswith("/data.pkl")]
            if len(names) != 1:
                raise zipfile.BadZipFile
            self.folder = names[0].removesuffix("data.pkl")
            order = self.folder + "byteorder"
            if order in self.zip.namelist() and self.zip.read(order) != b"little":
                raise CheckpointError(f"{path}: its elements are big-endian, wanted little-endian")
        except CheckpointError:
            raise
        except Exception as error:
            # zipfile raises whatever a damaged entry leads it to.
            raise CheckpointError(
                f"{path}: is no archive of torch.save, or it is cut off ({error}); files of its "
                "old form, before PyTorch 1.6, have to be saved again"
            ) from None
        self._check_entries()
        self.checked: set[str] = set()

    def _check_entries(self) -> None:
        """torch.save compresses nothing and writes no byte twice: memory and elements are
        in proportion to the file."""
        entries = self.zip.infolist()
        for entry in entries:
            if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
                raise CheckpointError(
                    f"{self.path}: '{entry.filename}' is compressed, wanted entries as torch.save "
                    "writes them: the file is damaged, or of another program"
                )
        total = sum(entry.file_size for entry in entries)
        if total > self.length:
            raise CheckpointError(
                f"{self.path}: its entries have {total} bytes together, and the archive has "
                f"{self.length}: the file is damaged"
            )

    def load(self) -> Any:
        try:
            text = self.zip.read(self.folder + "data.pkl")
        except Exception as error:
            raise CheckpointError(f"{self.path}: is damaged: {error}") from None
        return Unpickler(io.BytesIO(text), self.path, self.storage, Stored).load_checked()

    def storage(self, kind: str, key: str, elements: int) -> Storage:
        """The storage of that key."""
        name = f"{self.folder}data/{key}"
        try:
            entry = self.zip.getinfo(name)
        except KeyError:
            raise CheckpointError(f"{self.path}: has no '{name}': the file is damaged") from None
        if kind not in TYPES:
            raise CheckpointError(
                f"{self.path}: has elements of type {kind}, wanted one of {', '.join(TYPES)}"
            )
        wanted = elements * TYPES[kind].itemsize
        if entry.file_size != wanted:
            raise CheckpointError(
                f"{self.path}: '{name}' has {entry.file_size} bytes, wanted {wanted}: "
                "the file is damaged"
            )
        return Storage(self, entry, kind, elements)

    def place(self, entry: zipfile.ZipInfo) -> int:
        """Where an entry's bytes begin in the file."""
        with open_file(self.path) as file:
            file.seek(self.start + entry.header_offset)
            header = file.read(30)
        if header[:4] != b"PK\3\4":
            raise CheckpointError(
                f"{self.path}: '{entry.filename}' is not where its directory says: the file is "
                "damaged"
            )
        names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        return self.start + entry.header_offset + 30 + names

    def check(self, entry: zipfile.ZipInfo, data: numpy.ndarray) -> None:
        """Compares the checksum, once."""
        if entry.filename in self.checked:
            return
        found = 0
        for first in range(0, len(data), _BLOCK):
            found = zlib.crc32(data[first : first + _BLOCK], found)
        if found != entry.CRC:
            raise CheckpointError(
                f"{self.path}: '{entry.filename}' has the checksum {found:08x}, wanted "
                f"{entry.CRC:08x}: the file is damaged"
            )
        self.checked.add(entry.filename)


class Storage:
    """Elements of one type in an archive."""

    def __init__(self, archive: Archive, entry: zipfile.ZipInfo, kind: str, elements: int):
        self.archive, self.entry, self.kind, self.elements = archive, entry, kind, elements
        self._data = None

    @property
    def data(self) -> numpy.ndarray:
        if self._data is None:
            with reading(self.archive.path):
                place, size = self.archive.place(self.entry), self.entry.file_size
                if not size:
                    return numpy.empty(0, TYPES[self.kind])
                data = numpy.memmap(self.archive.path, numpy.uint8, "r", place, (size,))
                self.archive.check(self.entry, data)
                self._data = data.view(TYPES[self.kind])
        return self._data


class Stored:
    """A tensor in an archive."""

    def __init__(self, storage: Storage, offset: int, shape, strides):
        self.storage, self.offset = storage, offset
        self.shape, self.strides = tuple(shape), tuple(strides)
        path, numbers = storage.archive.path, (offset, *self.shape, *self.strides)
        if len(self.shape) != len(self.strides) or not all(type(n) is int for n in numbers):
            raise CheckpointError(
                f"{path}: a tensor has the shape {self.shape!r:.80}, the strides "
                f"{self.strides!r:.80} and the offset {offset!r:.20}: the file is damaged"
            )
        self.elements = math.prod(self.shape)
        last = offset + sum((s - 1) * t for s, t in zip(self.shape, self.strides, strict=True))
        if min(numbers) < 0 or (self.elements and last >= storage.elements):
            raise CheckpointError(
                f"{path}: a tensor of shape {list(self.shape)} reaches element "
                f"{last} of {storage.elements}: the file is damaged"
            )

    def checked(self) -> Stored:
        """This tensor, unless it has an element of the file for several of its own: a small
        file could then fill any disk. Buffers, which nobody reads, may be like that."""
        if self.elements > self.storage.elements:
            raise CheckpointError(
                f"{self.storage.archive.path}: a tensor of shape {list(self.shape)} has "
                f"{self.elements} elements, and the file only {self.storage.elements} of them "
                f"(strides {list(self.strides)}): save it again after .contiguous()"
            )
        return self

    @property
    def is_float(self) -> bool:
        return self.storage.kind in FLOATS

    @property
    def key(self):
        """Equal for two tensors of one file that are one."""
        return self.storage.entry.filename, self.offset, self.shape, self.strides

    def read(self, first: int, count: int) -> numpy.ndarray:
        """Elements in the order of rows, as f32."""
        data, kind = self.checked().storage.data, self.storage.kind
        if self._is_dense():
            found = data[self.offset + first : self.offset + first + count]
        else:
            bytes_of = [stride * data.itemsize for stride in self.strides]
            view = numpy.lib.stride_tricks.as_strided(data[self.offset :], self.shape, bytes_of)
            found = view.reshape(-1)[first : first + count]
        if kind == "BFloat16":
            return (found.astype(numpy.uint32) << 16).view(numpy.float32)
        return found.astype(numpy.float32)

    def item(self) -> float:
        """The value of a tensor of one element."""
        if self.elements != 1:
            raise CheckpointError(
                f"{self.storage.archive.path}: found a tensor of shape {list(self.shape)}, "
                "wanted a single number"
            )
        data = self.storage.data[self.offset]
        return float(self.read(0, 1)[0]) if self.storage.kind == "BFloat16" else data.item()

    def _is_dense(self) -> bool:
        wanted = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != wanted:
                return self.elements == 0
            wanted *= size
        return True


class _Range(io.RawIOBase):
    """A range of a file as a file."""

    def __init__(self, path: str, start: int, length: int):
        self.file = open_file(path)
        self.start, self.length, self.position = start, length, 0

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=0):
        self.position = max(0, offset + (0, self.position, self.length)[whence])
        return self.position

    def tell(self):
        return self.position

    def readinto(self, buffer):
        self.file.seek(self.start + self.position)
        count = max(0, min(len(buffer), self.length - self.position))
        found = self.file.read(count)
        buffer[: len(found)] = found
        self.position += len(found)
        return len(found)

    def close(self):
        self.file.close()
        super().close()
