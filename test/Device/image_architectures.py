"""Lists what the fat binaries in a file are for: image_architectures.py FILE"""

import pathlib
import struct
import sys

MAGIC = struct.pack("<I", 0xBA55ED50)
KINDS = {1: "ptx", 2: "elf"}

data = pathlib.Path(sys.argv[1]).read_bytes()
at = data.find(MAGIC)
while at >= 0:
    _, _, header, size = struct.unpack_from("<IHHQ", data, at)
    entry, end = at + header, at + header + size
    while entry < end:
        kind, _, header, size = struct.unpack_from("<HHIQ", data, entry)
        (architecture,) = struct.unpack_from("<I", data, entry + 28)
        print(KINDS[kind], f"sm_{architecture}")
        entry += header + size
    at = data.find(MAGIC, end)
