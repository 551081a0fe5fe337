"""Whether what runs on the GPU is right."""

import fnmatch
import json
import os
import sys
import tempfile

from commands import PATIENCE, PROGRAMS, ROOT, SKIPPED, binary, body_of, last_lines, run
from faults import fault_checks

DEVICE = os.path.join(ROOT, "test", "Device")
TEXT = os.path.join(ROOT, "test", "Goldens", "tiny.txt")
ZIPF = os.path.join(PROGRAMS, "zipf.bin")
LIMIT, LIMITS = 90, {"CudaAttention.FollowsTheHost": 240}  # seconds of a kernel's check
# One of each kind; what is wrong everywhere shows in a minute.
QUICK = ("trace", "Nccl.OneRankInAGraph", "CudaKernels.Products", "CudaKernels.Norms",
         "CudaKernels.MovesData", "CudaOptimizer.ExactStatistics",
         "CudaAttention.FollowsTheHostOverWholeTiles", "f32-alone", "f32-stage3-eager",
         "bf16-stage3-nccl", "f16-stage2-overflow-graph", "bf16-stage1-shared",
         "losses-gpt-f32", "rank-fails-thread-shared")


def gtest_names(program):
    code, output = run([binary(program), "--gtest_list_tests"], 60 * PATIENCE)
    if code != 0:
        return []
    names, suite = [], ""
    for line in output.splitlines():
        if line.startswith("  "):
            names.append(suite + line.split("#")[0].strip())
        elif line.endswith(".") and " " not in line:
            suite = line
    return names


def gtest_body(program, name):
    """One test in a process of its own: an error of CUDA stays with its process."""
    def body(limit):
        code, output = run([binary(program), f"--gtest_filter={name}"], limit)
        if code is None:
            return "failed", f"does not end within {limit:.0f} s", {}
        for line in output.splitlines():
            kind, _, rest = line.partition(": ")
            pattern, _, reason = rest.partition(": ")
            if kind == "left out" and fnmatch.fnmatchcase(name, pattern):
                return "skipped", reason, {}
        if code != 0:
            failures = [line for line in output.splitlines() if "Failure" in line or "rror" in line]
            return "failed", last_lines("\n".join(failures) or output), {"exit": code}
        if "[  SKIPPED ]" in output:
            lines = output.splitlines()
            at = next(i for i, line in enumerate(lines) if "Skipped" in line)
            reason = lines[at + 1].strip()
            # The machine has one, or nothing would run here.
            return "failed" if reason.startswith("no GPU") else "skipped", reason, {}
        if "[  PASSED  ] 1 test" not in output:
            return "failed", f"no test ran: {last_lines(output)}", {}
        return "passed", "", {}
    return body


def kernel_checks():
    for program in ("zero-nccl-tests", "zero-cuda-tests", "zero-cuda-conformance"):
        names = gtest_names(program)
        if not names:
            yield program, lambda limit, program=program: (
                "failed", f"{program} lists no tests", {}), 60
        for name in names:
            yield name, gtest_body(program, name), LIMITS.get(name, LIMIT)


def step_checks():
    suite = [sys.executable, os.path.join(DEVICE, "suite.py")]
    code, output = run(suite + ["list"], 60 * PATIENCE)
    for name in output.split() if code == 0 else []:
        yield name, body_of(suite + ["run", os.path.join(PROGRAMS, "suite"), name],
                                   skips=(SKIPPED,)), 120
    with open(os.path.join(PROGRAMS, "training.json")) as file:
        programs = json.load(file)
    for each in programs:
        for suffix, data, mode in (("", TEXT, []), ("-eager", TEXT, ["--eager"]),
                                   ("-zipf", ZIPF, [])):
            recorded = each["name"] + ("-zipf" if data == ZIPF else "") + ".jsonl"
            yield f"losses-{each['name']}{suffix}", body_of([
                sys.executable, os.path.join(DEVICE, "compare_training.py"),
                os.path.join(PROGRAMS, recorded), data, each["tolerance"],
                os.path.join(PROGRAMS, each["name"]), *each["flags"], *mode]), 120


def trace_check():
    def body(limit):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            program = os.path.join(PROGRAMS, "suite", "tiny-gpt-stage3-ranks1-bf16-a12-"
                                   "keep_trivial=True.so")
            code, output = run([binary("zero-device-run"), program, "--collectives=nccl", "--data",
                                TEXT, "--steps", "6", "--trace", path], limit)
            if code != 0:
                return "failed", last_lines(output), {"exit": code}
            checker = os.path.join(ROOT, "test", "Tools", "Inputs", "check_trace.py")
            code, output = run([sys.executable, checker, path, "1", "2", "4", "12"],
                               60 * PATIENCE)
            return "passed" if code == 0 else "failed", last_lines(output), {}
    return "trace", body, 120


def all_checks(report):
    """Those of `QUICK` first."""
    checks = [trace_check(), *step_checks(), *fault_checks(report.machine), *kernel_checks()]
    return sorted(checks, key=lambda check: check[0] not in QUICK)


def add_quick(report):
    checks = {check[0]: check for check in all_checks(report)}
    report.check_all([checks.get(name, (name, lambda limit: (
        "failed", "there is no such check", {}), LIMIT)) for name in QUICK])


def add_checks(report):
    report.check_all(all_checks(report))
