"""The runtime's checksum of files (runtime/io/Digest.h)."""

from __future__ import annotations

import xxhash

BLOCK = 4 << 20
_MASK = (1 << 64) - 1


class Digest:
    """The digest of bytes that come in parts: the sum of the digests of blocks, which are
    XXH3 with the block's number as the seed."""

    def __init__(self):
        self.bytes, self._blocks = 0, 0
        self._block = xxhash.xxh3_64(seed=0)

    def update(self, data) -> None:
        rest = memoryview(data)
        while rest:
            part = rest[: BLOCK - self.bytes % BLOCK]
            self._block.update(part)
            self.bytes += len(part)
            rest = rest[len(part) :]
            if self.bytes % BLOCK == 0:
                self._blocks += self._block.intdigest()
                self._block = xxhash.xxh3_64(seed=self.bytes // BLOCK)

    def hexadecimal(self) -> str:
        """Of all bytes so far."""
        begun = self._block.intdigest() if self.bytes % BLOCK else 0
        return f"{(self._blocks + begun) & _MASK:016x}"


def digest_of(data: bytes) -> str:
    digest = Digest()
    digest.update(data)
    return digest.hexadecimal()
