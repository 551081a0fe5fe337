"""Steps beside those of PyTorch on the same machine, and beside published ones."""

import json
import os
import sys

from commands import OUTER, ROOT, SKIPPED, last_lines, run
from models import Steps, kind_of, load, mfu, tokens_per_step

TORCH = 330  # seconds: 48 layers compile for minutes
# llm.c, bf16, tokens a second of one of eight GPUs, by what its scripts say in comments:
# scripts/run_gpt2_124M.sh, about 300 ms for 524,288 tokens on A100s;
# scripts/run_gpt2_1558M.sh, 2.80 s for 1,048,576 tokens on H100s. Both of May 2025
# (github.com/karpathy/llm.c, f1e2ace).
LLM_C = {"gpt2-124m": {"A100": 524288 / 0.3 / 8}, "gpt2-1558m": {"H100": 1048576 / 2.8 / 8}}


def torch_body(model, machine, torch, *flags):
    def body(limit):
        code, output = run([sys.executable, os.path.join(ROOT, "torch_model.py"),
                            json.dumps(model), *flags], limit, env=OUTER)
        if code is None:
            return "skipped", f"PyTorch is not done within {limit:.0f} s", {}
        if code == SKIPPED:
            return "skipped", last_lines(output, 1), {}
        if code != 0:
            return "failed", last_lines(output), {"exit": code}
        numbers = json.loads(output.splitlines()[-1])
        seconds = numbers["step_s"]
        torch[model["name"], *flags] = seconds
        numbers["mfu"] = mfu(model, seconds, machine)
        text = f"PyTorch {numbers['torch']}, {numbers['kind']}: step {seconds * 1e3:.2f} ms"
        if numbers["mfu"]:
            text += f", MFU {numbers['mfu'] * 100:.1f} %"
        return "passed", text, numbers
    return body


def faster_body(model, steps, torch):
    """A step takes less time than PyTorch's with the same states."""
    def body(limit):
        name = model["name"]
        if (name,) not in torch:
            return "skipped", f"PyTorch was not measured: run peers --only {name}", {}
        own, theirs = steps.of(model, limit), torch[name,]
        return ("passed" if own < theirs else "failed",
                f"zero {own * 1e3:.2f} ms, PyTorch {theirs * 1e3:.2f} ms a step: "
                f"{theirs / own:.2f} times as fast, wanted more than 1", {"speed": theirs / own})
    return body


def llm_c_body(model, machine, steps):
    """Tokens a second beside llm.c's. Its steps also reduce gradients among eight GPUs."""
    def body(limit):
        published = LLM_C[model["name"]]
        theirs = kind_of(machine, published)
        own = tokens_per_step(model) / steps.of(model, limit)
        if not theirs:
            return "skipped", f"{own:.0f} tokens/s here; llm.c's figure is of " \
                f"{', '.join(published)}", {"tokens_per_s": own}
        return ("passed" if own >= theirs else "failed",
                f"{own:.0f} tokens/s, llm.c {theirs:.0f} as published",
                {"tokens_per_s": own, "published": theirs})
    return body


def add_peers(report):
    steps, torch = Steps(), {}
    full = [model for model in load("models.json") if model["full"]]
    for model in full:
        if model["name"] in LLM_C:
            report.check(f"{model['name']}-llm.c", llm_c_body(model, report.machine, steps), 120)
    for model in reversed(full):  # the largest takes the longest to compile
        report.check(f"{model['name']}-torch", torch_body(model, report.machine, torch), TORCH)
        report.check(f"{model['name']}-faster", faster_body(model, steps, torch), 120)
    for model in reversed(full):
        report.check(f"{model['name']}-torch-bf16",
                     torch_body(model, report.machine, torch, "--bf16"), TORCH)
