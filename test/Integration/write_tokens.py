#!/usr/bin/env python3
"""Writes the bytes of a text as token ids in every format of token files.

Usage: write_tokens.py <text> <folder>

The folder gets raw.bin (16 bits), narrow.bin and wide.bin (llm.c's headers, 16 and
32 bits), wide.ids (32 bits), and faulty.bin, whose token 1000 is 60000.
"""

import array
import os
import struct
import sys


def main(text, folder):
    with open(text, "rb") as file:
        ids = list(file.read())

    def write(name, code, ids, magic=None, version=0):
        header = struct.pack("<3I1012x", magic, version, len(ids)) if magic else b""
        with open(os.path.join(folder, name), "wb") as file:
            file.write(header + array.array(code, ids).tobytes())

    write("raw.bin", "H", ids)
    write("narrow.bin", "H", ids, 20240520, 1)
    write("wide.bin", "I", ids, 20240801, 7)
    write("wide.ids", "I", ids)
    write("faulty.bin", "H", [*ids[:1000], 60000, *ids[1001:]], 20240520, 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
