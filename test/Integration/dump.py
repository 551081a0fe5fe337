"""Checks --dump: dump.py MODEL DATA FOLDER

All parameters of MODEL after its third update, at every stage: bitwise equal; the
norm of all gradients is what --metrics says; and the gradients, clipped, are what the
optimizer's first average became of.
"""

import json
import math
import pathlib
import re
import struct
import subprocess
import sys

RANKS, UPDATE, BETA = 2, 3, 0.9
OPTIONS = "deterministic=true accumulation=2 clip=0.5"


def read(path):
    """The tensors of a safetensors file, as lists of floats."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header, data = json.loads(data[8 : 8 + size]), data[8 + size :]
    header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    return tensors


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True)


def train(model, data, folder, stage):
    """The dumps of the update before and of the one that is checked."""
    program = folder / f"train-{stage}"
    options = ["--pipeline", f"{OPTIONS} ranks={RANKS} stage={stage}"]
    run("zero-compile", model, "-o", str(program), *options)
    names = re.findall(r"^zero\.parameter (@\S+)", pathlib.Path(model).read_text(), re.M)
    paths = []
    for update in (UPDATE - 1, UPDATE):
        paths.append(folder / f"dump-{stage}-{update}.safetensors")
        words = ["--data", data, "--steps", str(UPDATE), "--threads", "1"]
        words += [word for name in names for word in ("--dump", name)]
        words += ["--dump-update", str(update), "--dump-file", str(paths[-1])]
        run(str(program), *words, "--metrics", str(folder / "metrics.jsonl"))
    return paths


def norm(tensors):
    gradients = [tensors[name] for name in tensors if name.endswith("/gradient")]
    return math.sqrt(sum(value * value for values in gradients for value in values))


def main(model, data, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    paths = [train(model, data, folder, stage) for stage in (0, 1, 2, 3)]
    for others in paths[1:]:
        for path, other in zip(paths[0], others):
            assert path.read_bytes() == other.read_bytes(), other
    before, after = (read(path) for path in paths[0])
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
    wanted = metrics[UPDATE - 1]["grad_norm"]
    assert math.isclose(norm(after), wanted, rel_tol=1e-5), (norm(after), wanted)
    clip = min(1, 0.5 / (wanted + 1e-6))
    assert clip < 1
    checked = 0
    for name in after:
        if not name.endswith("/exp_avg"):
            continue
        gradient = after[name.replace("exp_avg", "gradient")]
        for old, new, value in zip(before[name], after[name], gradient):
            predicted = BETA * old + (1 - BETA) * clip * value
            assert math.isclose(new, predicted, rel_tol=1e-4, abs_tol=1e-9), name
            checked += 1
    print(len(after), "tensors,", "checked" if checked else "empty")


main(*sys.argv[1:])
