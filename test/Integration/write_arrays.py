#!/usr/bin/env python3
"""Writes the same samples in every form that an executable reads.

Usage: write_arrays.py <folder> <samples> <width> <classes>

The samples are `x`, vectors of f32, and `y`, the class that a sum says. The folder
gets all.safetensors, numpy/{x,y}.npy, each/{x,y}.safetensors, shards/ of three
files, and faulty/, of which each subfolder has one fault.
"""

import array
import os
import random
import struct
import sys

from training import write_tensors


def write_npy(path, descr, shape, data, order="False"):
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {tuple(shape)}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data)


def write_pair(folder, x, y, width, x_name="x", x_descr="<f4", order="False"):
    """y is 64 bits wide, as NumPy has it."""
    os.makedirs(folder, exist_ok=True)
    write_npy(os.path.join(folder, x_name + ".npy"), x_descr, (len(y), width),
              array.array("f", x).tobytes(), order)
    write_npy(os.path.join(folder, "y.npy"), "<i8", (len(y),), array.array("q", y).tobytes())


def main(folder, samples, width, classes):
    numbers = random.Random(5)
    x = array.array("f", [numbers.gauss(0, 1) for _ in range(samples * width)])
    y = [int(abs(sum(x[i * width:(i + 1) * width]))) % classes for i in range(samples)]

    def tensors(begin, end):
        return {"x": ([end - begin, width], x[begin * width:end * width]),
                "y": ([end - begin], y[begin:end])}

    def path(*names):
        os.makedirs(os.path.join(folder, *names[:-1]), exist_ok=True)
        return os.path.join(folder, *names)

    write_tensors(path("all.safetensors"), tensors(0, samples))
    write_pair(path("numpy"), x, y, width)
    for name, tensor in tensors(0, samples).items():
        write_tensors(path("each", name + ".safetensors"), {name: tensor})
    cuts = [0, samples // 5, samples // 2, samples]
    for i, (begin, end) in enumerate(zip(cuts, cuts[1:])):
        write_tensors(path("shards", f"{i}.safetensors"), tensors(begin, end))

    write_pair(path("faulty", "name"), x, y, width, x_name="x0")
    write_pair(path("faulty", "big"), x, y, width, x_descr=">f4")
    write_pair(path("faulty", "fortran"), x, y, width, order="True")
    write_pair(path("faulty", "shape"), x, y[:samples // 2], 2 * width)
    write_pair(path("faulty", "few"), x[:2 * width], y[:2], width)
    write_pair(path("faulty", "class"), x, y[:-1] + [classes], width)
    write_pair(path("faulty", "range"), x, y[:-1] + [1 << 40], width)
    write_pair(path("faulty", "short"), x, y, width)
    os.truncate(path("faulty", "short", "x.npy"), 300)


if __name__ == "__main__":
    main(sys.argv[1], *(int(word) for word in sys.argv[2:]))
