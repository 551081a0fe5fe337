#!/usr/bin/env python3
"""An export in several files: each tensor once, in the right file, rounded.

Usage: check_export.py <index> <whole> <most bytes>

`index` is of bf16 files of at most so many bytes of tensors, or of one tensor;
`whole` holds the same tensors as f32.
"""

import json
import os
import struct
import sys

from training import check, read_tensors


def rounded(value):
    """To bf16, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits += 0x7fff + (bits >> 16 & 1)
    return struct.unpack("<f", struct.pack("<I", bits & 0xffff0000))[0]


def main():
    index_path, whole_path, most = sys.argv[1:]
    with open(index_path) as file:
        index = json.load(file)
    whole = read_tensors(whole_path)
    places = index["weight_map"]
    check(list(places) == list(whole), "the index has other names than the model")
    files = sorted(set(places.values()))
    count = len(files)
    check(count > 2 and files == [f"model-{i + 1:05}-of-{count:05}.safetensors"
                                  for i in range(count)], f"the files are {files}")
    total = 0
    for name in files:
        tensors = read_tensors(os.path.join(os.path.dirname(index_path), name))
        check(sorted(tensors) == sorted(n for n, place in places.items() if place == name),
              f"{name} has {sorted(tensors)}")
        size = 2 * sum(len(values) for values in tensors.values())
        check(size <= int(most) or len(tensors) == 1, f"{name} has {size} bytes of tensors")
        total += size
        for tensor, values in tensors.items():
            check(list(values) == [rounded(value) for value in whole[tensor]],
                  f"{tensor} is not the rounded parameter")
    check(index["metadata"]["total_size"] == total, f"total_size is not {total}")


if __name__ == "__main__":
    main()
