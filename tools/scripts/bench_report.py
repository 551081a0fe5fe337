#!/usr/bin/env python3
"""Writes docs/Performance.md and its plot from what tools/bench has recorded.

Usage: bench_report.py RECORD.json PAGE.md PLOT.svg

A record has the commit, machine and versions, and for each case, a model in one
precision, the seconds of every timed step by engine and round, the peak memory of a
rank and the time to the end of the first step.
"""

import argparse
import html
import json
import os
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bench_trace  # noqa: E402
from bench_engines import DEEPSPEED, OURS, TORCH, is_ours, maker_of  # noqa: E402

# Model, precision, a peer, this project's engine with the same sharding, and how many
# times faster it is to be: what was measured when the aims were set.
AIMS = [
    ("gpt-small", "f32", "ddp", "zero-0", 1.3), ("gpt-small", "f32", "ds-2", "zero-2", 1.3),
    ("gpt-small", "bf16", "ds-2", "zero-2", 1.75), ("gpt-small", "bf16", "fsdp2", "zero-3", 1.9),
    ("gpt2-124m", "f32", "ddp", "zero-0", 1.85), ("gpt2-124m", "f32", "ds-2", "zero-2", 2.7),
    ("gpt2-124m", "f32", "ds-3", "zero-3", 3.3), ("gpt2-124m", "f32", "fsdp2", "zero-3", 3.1),
    ("gpt2-124m", "bf16", "ddp", "zero-0", 1.7), ("gpt2-124m", "bf16", "ds-2", "zero-2", 2.4),
]


def figures(rounds):
    """Median over rounds of the median step, and the shortest and longest step."""
    medians = [statistics.median(steps) for steps in rounds]
    return statistics.median(medians), min(map(min, rounds)), max(map(max, rounds))


def fastest(case, ours):
    """The shortest median step of this project's engines, or of the peers."""
    steps = [figures(engine["steps"])[0] for engine in case["engines"]
             if is_ours(engine["name"]) == ours and engine["steps"]]
    return min(steps, default=None)


def ranks_of(case):
    return f"{case['ranks']} rank{'s' if case['ranks'] > 1 else ''}"


def title(case):
    """Two ranks are the rule, and not named."""
    ranks = "" if case["ranks"] == 2 else f", {ranks_of(case)}"
    return f"{case['model']}, {case['precision']}{ranks}"


def table(case):
    best = fastest(case, ours=False)
    lines = [f"### {title(case)}", "",
             f"{case['description']}; {case['tokens']} tokens in a step of "
             f"{ranks_of(case)}.", "",
             "| engine | step, ms | from | to | tokens/s | beside the fastest peer | "
             "peak MiB per rank | first step after, s |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for engine in case["engines"]:
        middle, least, most = figures(engine["steps"])
        beside = f"{best / middle:.2f} x" if best else "-"
        lines.append(
            f"| {engine['name']} | {middle * 1e3:.1f} | {least * 1e3:.1f} | {most * 1e3:.1f} | "
            f"{case['tokens'] / middle:.0f} | {beside} | {max(engine['peak_mib']):.0f} | "
            f"{statistics.median(engine['first_step_s']):.1f} |")
    skipped = [f"Skipped: {name}: {reason}." for name, reason in case["skipped"].items()]
    return lines + [""] + skipped + ([""] if skipped else [])


def largest_table(record):
    """The largest micro-batches, or why there is none."""
    model, precision, *_ = record["case"].split(":")
    lines = [f"## Largest micro-batch in {record['gib']:g} GiB", "",
             f"Samples of {model}, {precision}, that one of two ranks takes at a time. Peaks grow",
             "linearly with the micro-batch: two of them tell it, and a run of it has checked it.",
             "", "| engine | micro-batch | peak MiB per rank |", "| --- | --- | --- |"]
    for entry in record["engines"]:
        if "reason" in entry:
            lines.append(f"| {entry['engine']} | {entry['reason']} | |")
        else:
            lines.append(
                f"| {entry['engine']} | {entry['batch']} | {entry['peak_mib']:.0f} |")
    return lines + [""]


def aims_table(record):
    """The aims whose engines ran, with what was reached; nothing where none did."""
    rows = []
    cases = {(case["model"], case["precision"]): {engine["name"]: figures(engine["steps"])
                                                  for engine in case["engines"]}
             for case in record["cases"] if case["ranks"] == 2}
    for model, precision, peer, ours, aim in AIMS:
        found = cases.get((model, precision), {})
        if peer not in found or ours not in found:
            continue
        (theirs, least, most), (mine, shortest, longest) = found[peer], found[ours]
        rows.append(f"| {model}, {precision} | {peer} | {ours} | {aim:.2f} x | "
                    f"{theirs / mine:.2f} x | {least / longest:.2f} to {most / shortest:.2f} |")
    if not rows:
        return []
    return ["## Aims", "",
            "How many times faster a step is to be than the peer's with the same sharding, and",
            "is; *range* goes from the peer's shortest step over our longest to the reverse.", "",
            "| model | peer | engine | aim | reached | range |",
            "| --- | --- | --- | --- | --- | --- |", *rows, "",
            "An aim is the ratio that was measured when it was set, in a run of its own. Peers",
            "compute the same matrix products, which are four fifths of a step here: a ratio is",
            "what a peer spends beside them, and that differs most between runs and machines.", ""]


def trace_table(record):
    return ["## Where the time goes", "",
            "Steps of one rank with one thread, traced (`--trace`). The limit is the time that",
            "the matrix products of the step would take at the rate of the fastest of them: the",
            "aim is 1.10 of it in f32 and 1.20 in bf16. The row before the last shows what other",
            "kernels add; the rest are products of shapes that the library multiplies more slowly",
            "than the fastest one.", "",
            "What keeps a step from the aim, in this order: attention, whose own products the",
            "limit leaves out, and its exponentials; products of less favourable shapes; and the",
            "optimizer, which is as fast as memory.", "",
            *bench_trace.table(record), ""]


def rounds_of(record):
    """How many rounds there were: fewer than asked for in a run that was ended."""
    counts = {len(engine["steps"]) for case in record["cases"] for engine in case["engines"]} or {0}
    least, most = min(counts), max(counts)
    if least == most:
        return f"{most} round{'s' if most > 1 else ''}"
    return f"{least} to {most} rounds"


def tables(record):
    lines = []
    if record.get("traces"):
        lines += trace_table(record["traces"])
    lines += aims_table(record)
    if "largest" in record:
        lines += largest_table(record["largest"])
    lines += ["## Figures", ""]
    for case in record["cases"]:
        lines += table(case)
    return lines


def page(record, plot):
    options = record["options"]
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    lines = [
        "<!-- Written by tools/bench. -->", "",
        "# Performance", "",
        "Training steps of this project beside PyTorch and DeepSpeed, on one machine:",
        "`tools/bench` installs the peers in an environment of its own, runs the engines of a",
        "case in turn on the same cores, one thread a rank, and writes this page.", "",
        f"- Machine: {record['machine']}.",
        f"- Commit {record['commit']}, {record['date']}; {versions}.",
        f"- Each figure is the median over {rounds_of(record)} of the median of "
        f"{options['steps']} steps after {options['warmup']} that do not count; *from* and *to* "
        "are the shortest and the longest of these steps.",
        f"- Load of the machine before the first round: {record['load']:.1f}.",
        "- Memory is the peak resident set of the largest process, divided by the ranks in it;",
        "  PyTorch's includes Python and its libraries.",
        "- The last column counts from the start of the command to the end of the first step.",
        "",
        "| engine | what it is |", "| --- | --- |",
        "| `zero-0` to `zero-3` | this project at a ZeRO stage, ranks as threads of one process |",
        "| `zero-mpi-0` to `zero-mpi-3` | the same with ranks as processes |",
        "| `ddp`, `zero-redundancy` | DistributedDataParallel; with ZeroRedundancyOptimizer |",
        "| `fsdp2`, `fsdp2-z2` | `fully_shard`; without resharding after the forward pass |",
        "| `ddp-compile`, `fsdp2-compile` | the same models through `torch.compile` |",
        "| `ds-0` to `ds-3` | DeepSpeed at a ZeRO stage |", "",
        "In bf16, `ddp` is autocast over f32 parameters, `fsdp2` has bf16 parameters and reduces",
        "in f32, and DeepSpeed has its own bf16 mode: they do not compute exactly the same.", "",
        f"![steps by engine]({plot})", "",
    ]
    lines += tables(record)
    return "\n".join(lines).rstrip() + "\n"


# The plot: a panel for each case, in columns, with a row for each engine and a bar for its
# step.
COLUMNS, PANEL, LABEL, VALUE, ROW, HEAD, GAP, LEGEND = 2, 470, 110, 60, 14, 24, 12, 28
COLORS = {OURS: "#2a6fbb", TORCH: "#e0955c", DEEPSPEED: "#9a9a9a"}


def text(x, y, words, **attributes):
    more = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{html.escape(words)}</text>'


def bars(case, left, top):
    """The panel of one case."""
    entries = [(engine["name"], *figures(engine["steps"])) for engine in case["engines"]]
    longest = max((most for *_, most in entries), default=1)
    scale = (PANEL - LABEL - VALUE) / longest
    origin = left + LABEL
    parts = [text(left + 4, top + 15, f"{title(case)}: ms a step", font_weight="bold")]
    for row, (name, middle, least, most) in enumerate(entries):
        above = top + HEAD + row * ROW
        parts += [
            text(origin - 6, above + 11, name, text_anchor="end"),
            f'<rect x="{origin}" y="{above + 2}" width="{middle * scale:.1f}" '
            f'height="{ROW - 4}" fill="{COLORS[maker_of(name)]}"/>',
            f'<line x1="{origin + least * scale:.1f}" x2="{origin + most * scale:.1f}" '
            f'y1="{above + ROW / 2}" y2="{above + ROW / 2}" stroke="black"/>',
            text(origin + most * scale + 6, above + 11, f"{middle * 1e3:.1f}")]
    return parts


def legend():
    parts = []
    for place, (maker, color) in enumerate(COLORS.items()):
        left = 8 + place * 100
        parts += [f'<rect x="{left}" y="8" width="12" height="12" fill="{color}"/>',
                  text(left + 18, 18, maker)]
    return [*parts, text(8 + len(COLORS) * 100, 18,
                         "bars: medians; lines: from the shortest step to the longest")]


def plot(record):
    parts, top = legend(), LEGEND
    cases = record["cases"]
    for first in range(0, len(cases), COLUMNS):
        row = cases[first:first + COLUMNS]
        for column, case in enumerate(row):
            parts += bars(case, column * PANEL, top)
        top += HEAD + ROW * max(len(case["engines"]) for case in row) + GAP
    width = COLUMNS * PANEL
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" '
         'font-family="sans-serif" font-size="11">',
         f'<rect width="{width}" height="{top}" fill="white"/>', *parts, "</svg>"]) + "\n"


def write(record, page_path, plot_path):
    relative = os.path.relpath(plot_path, page_path.parent)
    page_path.write_text(page(record, relative))
    plot_path.write_text(plot(record))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("record", type=pathlib.Path)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("plot", type=pathlib.Path)
    args = parser.parse_args()
    write(json.loads(args.record.read_text()), args.page, args.plot)


if __name__ == "__main__":
    main()
