"""Runs of the models that are measured, and the data that they read.

A step's seconds are those of the host's clock, from its inputs to its control block:
medians, without the first updates. The device's part is the graph of the step, launched
many times back to back after training, by the device's clock; what a step takes longer
is lost to the host.
"""

import itertools
import json
import os
import random
import re
import statistics
import tempfile

from commands import PROGRAMS, binary, last_lines, run

PEAK = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "B200": 2250e12}  # bf16, dense
UNITS = {"bytes": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
WARM = 3  # updates: the first loads code, the second is captured
TOKENS = 1 << 20
TEXT = os.path.join(PROGRAMS, "text.bin")


def load(name):
    with open(os.path.join(PROGRAMS, name)) as file:
        return json.load(file)


def kind_of(machine, table):
    """The entry of `table` for this machine's GPU, whose name has the key in it, or None."""
    gpu = machine.facts.get("gpu", "")
    return next((value for key, value in table.items() if key in gpu), None)


def flops_per_token(model):
    """Products of forward and backward; attention's are causal, so half."""
    layers, width, context = model["layers"], model["width"], model["context"]
    return 6 * model["product_parameters"] + 6 * layers * width * context


def tokens_per_step(model):
    return model["micro_batch"] * model["context"]


def mfu(model, seconds, machine):
    """The share of the data sheet's rate, or None where there is no sheet."""
    peak = kind_of(machine, PEAK)
    return flops_per_token(model) * tokens_per_step(model) / seconds / peak if peak else None


def write_tokens(path, ids):
    with open(path, "wb") as file:
        for block in iter(lambda: list(itertools.islice(ids, 1 << 12)), []):
            file.write(b"".join(each.to_bytes(2, "little") for each in block))


def uniform(vocabulary):
    """The loss is of no interest, the gradients are not 0."""
    generator = random.Random(1)
    return (generator.randrange(vocabulary) for _ in range(TOKENS))


def zipf(vocabulary):
    """As words are in a language: the n-th id is n times as rare as the first one."""
    weights = list(itertools.accumulate(1 / (n + 1) for n in range(vocabulary)))
    return iter(random.Random(1).choices(range(vocabulary), cum_weights=weights, k=TOKENS))


def text(vocabulary):
    """Words of a real text, in its order; again from the front at its end."""
    with open(TEXT, "rb") as file:
        data = file.read()
    ids = [data[i] | data[i + 1] << 8 for i in range(0, len(data), 2)]
    return itertools.islice((each % vocabulary for each in itertools.cycle(ids)), TOKENS)


class Run:
    """One run of a program: its metrics, and what it says of the device."""

    def __init__(self, model, steps, flags, limit, ids=uniform):
        with tempfile.TemporaryDirectory() as folder:
            data, path = (os.path.join(folder, name) for name in ("tokens.bin", "metrics.jsonl"))
            write_tokens(data, ids(model["vocabulary"]))
            program = os.path.join(PROGRAMS, model["name"] + ".so")
            code, output = run([binary("zero-device-run"), program, "--data", data, "--steps",
                                str(steps), "--metrics", path, *flags], limit)
            if code is None:
                raise TimeoutError(f"{steps} steps are not done within {limit:.0f} s")
            if code != 0:
                raise RuntimeError(last_lines(output))
            with open(path) as file:
                self.updates = [json.loads(line) for line in file]
        self.seconds = statistics.median(each["step_s"] for each in self.updates[WARM:])
        self.planned = sum(self.updates[0]["memory"].values())
        self.in_use = bytes_in(r"the device: .*; ([\d.]+ \w+) of its memory in use", output)
        self.workspace = bytes_in(r"the kernels' workspace: ([\d.]+ \w+)", output)
        graph = re.search(r"the step's graph alone: (\S+) ms", output)
        self.graph = float(graph[1]) * 1e-3 if graph else None


class Steps:
    """Seconds of steps by model and flags. One that no row has measured is measured when it is
    asked for, so that any row can run alone."""

    def __init__(self):
        self.known = {}

    def of(self, model, limit, flags=()):
        key = model["name"], *flags
        if key not in self.known:
            self.known[key] = Run(model, model["steps"], flags, limit).seconds
        return self.known[key]


def bytes_in(pattern, output):
    found = re.search(pattern, output)
    if not found:
        return None
    number, unit = found[1].split()
    return int(float(number) * UNITS[unit])
