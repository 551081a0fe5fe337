"""How fast it is: the optimizer beside a copy, and steps beside PyTorch.

A step's seconds are those of the host's clock, from its inputs to its control block:
medians, without the first updates. The device's part is the graph of the step, launched
many times back to back after training, by the device's clock; what a step takes longer
is lost to the host.
"""

import json
import os
import random
import re
import statistics
import sys
import tempfile

from report import OUTER, ROOT, binary, last_lines, run

PROGRAMS = os.path.join(ROOT, "programs")
COPY_SHARE = 0.9  # of a copy's bytes a second
LOST = 0.01       # of a step
GRAPH = 1.02      # of an eager step's seconds, at most
TORCH = 330       # seconds: 48 layers compile for minutes
# What a process needs beside the plan and an empty context: the libraries' code
# and what they keep.
BESIDE_PLAN = 3 << 30
PEAK = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "B200": 2250e12}
UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def flops_per_token(model):
    """Products of forward and backward; attention's are causal, so half."""
    layers, width, context = model["layers"], model["width"], model["context"]
    return 6 * model["parameters"] + 6 * layers * width * context


def mfu(model, seconds, machine):
    tokens = model["micro_batch"] * model["context"]
    for name, peak in PEAK.items():
        if name in machine.facts.get("gpu", ""):
            return flops_per_token(model) * tokens / seconds / peak
    return None


def write_tokens(path, vocabulary, count):
    """Random ids of 16 bits: the loss is of no interest, the gradients are not 0."""
    generator = random.Random(1)
    with open(path, "wb") as file:
        for _ in range(count >> 12):
            file.write(b"".join(generator.randrange(vocabulary).to_bytes(2, "little")
                                for _ in range(1 << 12)))


class Run:
    """One run of a program: its metrics, and what it says of the device."""

    def __init__(self, model, data, steps, flags, limit):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "metrics.jsonl")
            program = os.path.join(PROGRAMS, model["name"] + ".so")
            code, output = run([binary("zero-device-run"), program, "--data", data, "--steps",
                                str(steps), "--metrics", path, *flags], limit)
            if code is None:
                raise TimeoutError(f"{steps} steps are not done within {limit:.0f} s")
            if code != 0:
                raise RuntimeError(last_lines(output))
            with open(path) as file:
                self.updates = [json.loads(line) for line in file]
        self.planned = sum(self.updates[0]["memory"].values())
        self.in_use = bytes_in(r"the device: .*; ([\d.]+ \w+) of its memory in use", output)
        self.workspace = bytes_in(r"the kernels' workspace: ([\d.]+ \w+)", output)
        graph = re.search(r"the step's graph alone: (\S+) ms", output)
        self.graph = float(graph[1]) * 1e-3 if graph else None

    def after(self, first, key):
        """The median of a figure, without the first updates."""
        return statistics.median(update[key] for update in self.updates[first:])


def bytes_in(pattern, text):
    found = re.search(pattern, text)
    if not found:
        return None
    number, unit = found[1].split()
    return int(float(number) * UNITS[unit])


def zero_body(model, machine, known, flags=()):
    def body(limit):
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "tokens.bin")
            write_tokens(data, model["vocabulary"], 1 << 20)
            repeat = () if "--eager" in flags else ("--repeat-graph", str(model["steps"]))
            result = Run(model, data, model["steps"], [*flags, *repeat], limit)
        # The first update loads code, the second is captured.
        seconds, device = result.after(3, "step_s"), result.graph
        known[model["name"], flags] = seconds
        numbers = {"step_s": seconds, "mfu": mfu(model, seconds, machine),
                   "planned": result.planned, "workspace": result.workspace,
                   "in_use": result.in_use}
        text = f"step {seconds * 1e3:.3f} ms"
        if device:
            numbers.update(graph_s=device, lost_s=seconds - device,
                           host_share=1 - device / seconds)
            text += f", its graph alone {device * 1e3:.3f} ms"
        if numbers["mfu"]:
            text += f", MFU {numbers['mfu'] * 100:.1f} %"
        return "passed", text, numbers
    return body


def row_of(report, name):
    return next((row for row in report.rows if row["check"] == name), {})


def add_verdicts(report, model):
    """What the run of a model says of the host's part and of the memory."""
    name = model["name"]

    def host(limit):
        row = row_of(report, name)
        if "host_share" not in row:
            return "skipped", f"{name} did not run", {}
        share = row["host_share"]
        return ("passed" if share <= LOST else "failed",
                f"{share * 100:.2f} % of a step is not its graph's ({row['lost_s'] * 1e6:.0f} us), "
                f"wanted {LOST * 100:.0f} %", {})

    def memory(limit):
        row = row_of(report, name)
        if not row.get("in_use"):
            return "skipped", f"{name} did not run", {}
        beside = row["in_use"] - row["planned"] - (row["workspace"] or 0) - \
            report.machine.facts.get("in_use", 0)
        return ("passed" if beside <= BESIDE_PLAN else "failed",
                f"planned {row['planned'] / 2**30:.2f} GiB, in use {row['in_use'] / 2**30:.2f} "
                f"GiB, {beside / 2**30:.2f} GiB beside the plan, wanted at most "
                f"{BESIDE_PLAN / 2**30:.0f}", {"beside": beside})

    report.check(f"{name}-host", host, 10)
    report.check(f"{name}-memory", memory, 10)


def torch_body(model, machine, known, *flags):
    def body(limit):
        code, output = run([sys.executable, os.path.join(ROOT, "torch_gpt.py"),
                            json.dumps(model), *flags], limit, env=OUTER)
        if code is None:
            return "skipped", f"PyTorch is not done within {limit:.0f} s", {}
        if code == 77:
            return "skipped", last_lines(output, 1), {}
        if code != 0:
            return "failed", last_lines(output), {"exit": code}
        numbers = json.loads(output.splitlines()[-1])
        seconds = numbers["step_s"]
        numbers["mfu"] = mfu(model, seconds, machine)
        text = f"PyTorch {numbers['torch']}, {numbers['kind']}: step {seconds * 1e3:.2f} ms"
        if numbers["mfu"]:
            text += f", MFU {numbers['mfu'] * 100:.1f} %"
        own = known.get((model["name"], ()))
        if own:
            numbers["speed"] = seconds / own
            text += f"; zero is {seconds / own:.2f} times as fast"
        return "passed", text, numbers
    return body


def adamw(limit):
    code, output = run([binary("zero-device-bench"), "adamw"], limit)
    if code is None:
        return "failed", f"does not end within {limit:.0f} s", {}
    if code != 0:
        return "failed", last_lines(output), {"exit": code}
    numbers = json.loads(output.splitlines()[-1])
    text = f"{numbers['update_bytes_per_s'] / 1e9:.0f} GB/s, a copy " \
        f"{numbers['copy_bytes_per_s'] / 1e9:.0f} GB/s: {numbers['share'] * 100:.1f} %, " \
        f"wanted {COPY_SHARE * 100:.0f} %"
    return "passed" if numbers["share"] >= COPY_SHARE else "failed", text, numbers


def add_graph(report, model, known):
    def body(limit):
        graph, eager = (known.get((model["name"], flags)) for flags in ((), ("--eager",)))
        if not graph or not eager:
            return "skipped", "one of the two did not run", {}
        return ("passed" if graph <= GRAPH * eager else "failed",
                f"graph {graph * 1e3:.3f} ms, eager {eager * 1e3:.3f} ms a step",
                {"graph_s": graph, "eager_s": eager})
    report.check(f"{model['name']}-eager", zero_body(model, report.machine, known, ("--eager",)),
                 120)
    report.check(f"{model['name']}-graph-or-eager", body, 10)


def add_measurements(report):
    report.check("adamw", adamw, 90)
    with open(os.path.join(PROGRAMS, "models.json")) as file:
        models = json.load(file)
    known = {}
    for model in models:
        report.check(model["name"], zero_body(model, report.machine, known), 180)
        if model["full"]:
            add_verdicts(report, model)
            report.check(f"{model['name']}-torch", torch_body(model, report.machine, known),
                         TORCH)
        if model["eager"]:
            add_graph(report, model, known)
    for model in models:
        if model["full"]:
            report.check(f"{model['name']}-torch-bf16",
                         torch_body(model, report.machine, known, "--bf16"), TORCH)
