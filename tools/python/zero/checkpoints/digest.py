"""The runtime's checksum of files (runtime/state/Digest.h), by NumPy."""

from __future__ import annotations

import numpy

BLOCK = 4 << 20
# Blocks whose chains run side by side.
_TOGETHER = 16
_U64 = numpy.uint64
_MASK = (1 << 64) - 1


def _mix(x: numpy.ndarray) -> numpy.ndarray:
    x = (x ^ (x >> _U64(30))) * _U64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U64(27))) * _U64(0x94D049BB133111EB)
    return x ^ (x >> _U64(31))


def _blocks(first: int, sizes: list[int], data: bytes) -> int:
    """The sum of the digests of blocks from number `first` on, which have equal sizes."""
    count, bytes_of = len(sizes), sizes[0]
    padded = -(-bytes_of // 32) * 32
    words = numpy.zeros((count, padded), numpy.uint8)
    words[:, :bytes_of] = numpy.frombuffer(data, numpy.uint8).reshape(count, bytes_of)
    # Step by step over all chains of all blocks.
    steps = numpy.ascontiguousarray(words.view("<u8").reshape(count, -1, 4).transpose(1, 0, 2))
    chains = numpy.tile(numpy.arange(1, 5, dtype=_U64), (count, 1))
    numbers = numpy.tile(numpy.arange(4, dtype=_U64), (count, 1))
    mixed = numpy.empty_like(chains)
    factor, up, down = _U64(0x9E3779B97F4A7C15), _U64(29), _U64(35)
    for step in steps:
        numpy.bitwise_xor(chains, step, out=mixed)
        numpy.multiply(mixed, factor, out=mixed)
        numpy.left_shift(mixed, up, out=chains)
        numpy.right_shift(mixed, down, out=mixed)
        numpy.bitwise_or(chains, mixed, out=chains)
        numpy.add(chains, numbers, out=chains)
    digest = numpy.zeros(count, _U64)
    for chain in range(4):
        digest = _mix(digest ^ chains[:, chain])
    number = _mix(numpy.arange(first, first + count, dtype=_U64))
    return int(_mix(digest + number + _U64(bytes_of)).sum(dtype=_U64))


class Digest:
    """The digest of bytes that come in parts."""

    def __init__(self):
        self.bytes, self.value = 0, 0
        self._waiting = bytearray()
        self._block = 0

    def update(self, data) -> None:
        self.bytes += len(data)
        self._waiting += data
        size = BLOCK * _TOGETHER
        while len(self._waiting) >= size:
            self._add([BLOCK] * _TOGETHER, size)

    def _add(self, sizes: list[int], size: int) -> None:
        part = bytes(self._waiting[:size])
        del self._waiting[:size]
        self.value = (self.value + _blocks(self._block, sizes, part)) & _MASK
        self._block += len(sizes)

    def hexadecimal(self) -> str:
        """Of all bytes so far; none may follow."""
        whole = len(self._waiting) // BLOCK
        if whole:
            self._add([BLOCK] * whole, whole * BLOCK)
        if self._waiting:
            self._add([len(self._waiting)], len(self._waiting))
        return f"{self.value:016x}"


def digest_of(data: bytes) -> str:
    digest = Digest()
    digest.update(data)
    return digest.hexadecimal()
