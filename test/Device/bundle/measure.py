"""How fast it is: the optimizer beside a copy, models, and what their runs say."""

import json

from commands import binary, last_lines, run
from kinds import kinds_body
from models import Run, Steps, load, mfu
from ratios import SAME

COPY_SHARE = 0.9  # of a copy's bytes a second
LOST = 0.01       # of a step
# What a process needs beside the plan and an empty context: the libraries' code
# and what they keep.
BESIDE_PLAN = 3 << 30


def zero_body(model, machine, steps, flags=()):
    def body(limit):
        repeat = () if "--eager" in flags else ("--repeat-graph", str(model["steps"]))
        result = Run(model, model["steps"], [*flags, *repeat], limit)
        seconds, device = result.seconds, result.graph
        steps.known[model["name"], *flags] = seconds
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


def host_verdict(row):
    share = row["host_share"]
    return ("passed" if share <= LOST else "failed",
            f"{share * 100:.2f} % of a step is not its graph's ({row['lost_s'] * 1e6:.0f} us), "
            f"wanted {LOST * 100:.0f} %", {})


def memory_verdict(row, report):
    beside = row["in_use"] - row["planned"] - (row["workspace"] or 0) - \
        report.machine.facts.get("in_use", 0)
    return ("passed" if beside <= BESIDE_PLAN else "failed",
            f"planned {row['planned'] / 2**30:.2f} GiB, in use {row['in_use'] / 2**30:.2f} "
            f"GiB, {beside / 2**30:.2f} GiB beside the plan, wanted at most "
            f"{BESIDE_PLAN / 2**30:.0f}", {"beside": beside})


def rate_verdict(row, model):
    return ("passed" if row["mfu"] >= model["wanted_mfu"] else "failed",
            f"{row['mfu'] * 100:.1f} % of the data sheet's rate in bf16, wanted "
            f"{model['wanted_mfu'] * 100:.0f} %", {"mfu": row["mfu"]})


def add_verdicts(report, model):
    """What the run of a model says of its speed, of the host's part and of the memory."""
    name = model["name"]

    def judged(key, verdict, lacking):
        def body(limit):
            row = row_of(report, name)
            if "step_s" not in row:
                return "skipped", f"{name} was not measured: run measure --only {name}", {}
            return verdict(row) if row.get(key) is not None else ("skipped", lacking, {})
        return body

    report.check(f"{name}-host", judged("host_share", host_verdict, "no update was a graph"), 10)
    report.check(f"{name}-memory", judged("in_use", lambda row: memory_verdict(row, report),
                                          "the run does not say what is in use"), 10)
    if model["wanted_mfu"]:
        report.check(f"{name}-mfu", judged("mfu", lambda row: rate_verdict(row, model),
                                           "the rate of this GPU is not known"), 10)


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


def add_graph(report, model, steps):
    def body(limit):
        graph, eager = (steps.of(model, limit, flags) for flags in ((), ("--eager",)))
        return ("passed" if graph <= SAME * eager else "failed",
                f"graph {graph * 1e3:.3f} ms, eager {eager * 1e3:.3f} ms a step",
                {"graph_s": graph, "eager_s": eager})
    report.check(f"{model['name']}-eager", zero_body(model, report.machine, steps, ("--eager",)),
                 120)
    report.check(f"{model['name']}-graph-or-eager", body, 120)


def add_measurements(report):
    report.check("adamw", adamw, 90)
    steps = Steps()
    for model in load("models.json"):
        name = model["name"]
        report.check(name, zero_body(model, report.machine, steps), 180)
        if model["full"]:
            add_verdicts(report, model)
            report.check(f"{name}-kinds", kinds_body(model, report.machine, report.folder), 120)
        if model["eager"]:
            add_graph(report, model, steps)
