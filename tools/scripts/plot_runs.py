#!/usr/bin/env python3
"""Draws predictions beside published runs, from the JSON of zero-plan compare-runs
or zero-plan-bench fit: docs/published-runs.svg is made with

  zero-plan compare-runs docs/published-runs.csv --machine h100-eager --json h100.json
  zero-plan compare-runs docs/published-runs.csv --machine a100-eager --json a100.json
  tools/scripts/plot_runs.py h100.json a100.json > docs/published-runs.svg
"""

import html
import json
import math
import pathlib
import sys

SIZE, LEFT, TOP = 520, 70, 20
COLORS = ["#d1495b", "#2a6fbb", "#3a9d5d", "#8a5fb0"]


def ticks(least, most):
    return [digit * 10**power for power in range(math.floor(math.log10(least)),
                                                 math.ceil(math.log10(most)) + 1)
            for digit in (1, 2, 5) if least <= digit * 10**power <= most]


def draw(runs):
    speeds = [run[key] for run in runs
              for key in ("published_tokens_per_second", "predicted_tokens_per_second")]
    least, most = min(speeds) / 1.3, max(speeds) * 1.3

    def place(speed):
        return SIZE * math.log(speed / least) / math.log(most / least)

    def at(published, predicted):
        return LEFT + place(published), TOP + SIZE - place(predicted)

    def line(factor, style):
        x1, y1 = at(max(least, least / factor), max(least, least * factor))
        x2, y2 = at(min(most, most / factor), min(most, most * factor))
        return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                f'stroke="#888888"{style}/>')

    parts = [f'<rect x="{LEFT}" y="{TOP}" width="{SIZE}" height="{SIZE}" fill="none" '
             'stroke="black"/>',
             line(1, ""), line(1.15, ' stroke-dasharray="4 3"'),
             line(1 / 1.15, ' stroke-dasharray="4 3"')]
    for tick in ticks(least, most):
        x, y = at(tick, tick)
        parts += [f'<text x="{x:.1f}" y="{TOP + SIZE + 16}" text-anchor="middle">{tick:g}</text>',
                  f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>']
    gpus = sorted({run["gpu"] for run in runs})
    for run in runs:
        x, y = at(run["published_tokens_per_second"], run["predicted_tokens_per_second"])
        what = (f"{run['gpu']}, {run['model']}, {run['sequence']} tokens, {run['gpus']} GPUs: "
                f"published {run['published_tokens_per_second']:.0f}, predicted "
                f"{run['predicted_tokens_per_second']:.0f}")
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="none" stroke-width="1.5" '
                     f'stroke="{COLORS[gpus.index(run["gpu"]) % len(COLORS)]}">'
                     f"<title>{html.escape(what)}</title></circle>")
    for index, gpu in enumerate(gpus):
        parts.append(f'<text x="{LEFT + 12}" y="{TOP + 20 + 16 * index}" '
                     f'fill="{COLORS[index % len(COLORS)]}">{html.escape(gpu)}</text>')
    middle = LEFT + SIZE / 2
    parts += [f'<text x="{middle}" y="{TOP + SIZE + 34}" text-anchor="middle">'
              "published tokens a second and GPU; dashed: 15 %</text>",
              f'<text x="14" y="{TOP + SIZE / 2}" text-anchor="middle" '
              f'transform="rotate(-90 14 {TOP + SIZE / 2})">predicted</text>']
    width, height = LEFT + SIZE + 20, TOP + SIZE + 44
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
                      f'height="{height}" font-family="sans-serif" font-size="11">',
                      f'<rect width="{width}" height="{height}" fill="white"/>', *parts,
                      "</svg>"])


def main():
    runs = [run for path in sys.argv[1:]
            for run in json.loads(pathlib.Path(path).read_text())["runs"]]
    if not runs:
        sys.exit("no runs; name the JSON files of zero-plan compare-runs")
    print(draw(runs))


if __name__ == "__main__":
    main()
