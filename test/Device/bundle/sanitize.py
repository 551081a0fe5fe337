"""compute-sanitizer on kernels and on whole steps.

memcheck leaves errors of calls alone, which libraries meet and handle. initcheck
counts a zeroed buffer as written, so it runs with memory that nobody zeroes.
"""

import os
import shutil

from checks import TEXT
from commands import PROGRAMS, binary, last_lines, run

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FAULTS = 42  # its exit code where it found something
# Small cases of each family: the tools make kernels up to a hundred times slower.
KERNELS = "CudaKernels.*"
ATTENTION = "CudaAttention.OwnKernelsInSmall"
OPTIMIZER = "CudaOptimizer.ExactStatistics:CudaOptimizer.NormVerdictAndScale:" \
    "CudaOptimizer.CopiesAccumulatesAndRecords:CudaOptimizer.UpdatesOfASplitMaster"
STEP = "tiny-gpt-stage3-ranks1-{}-a12-keep_trivial=True.so"
FLAGS = {"memcheck": ["--report-api-errors=no"]}
VARIABLES = {"initcheck": {"ZERO_UNINITIALIZED": "1"}}


def targets():
    def step(precision):
        return [binary("zero-device-run"),
                os.path.join(PROGRAMS, "suite", STEP.format(precision)), "--data", TEXT,
                "--steps", "3", "--eager"]

    yield "kernels", [binary("zero-cuda-tests"), f"--gtest_filter={KERNELS}"], 150
    yield "attention", [binary("zero-cuda-tests"), f"--gtest_filter={ATTENTION}"], 150
    yield "optimizer", [binary("zero-cuda-tests"), f"--gtest_filter={OPTIMIZER}"], 90
    yield "step-bf16", step("bf16"), 90
    yield "step-f32", step("f32"), 90


def sanitizer():
    return shutil.which("compute-sanitizer") or next(
        (path for path in ("/usr/local/cuda/bin/compute-sanitizer",
                           "/usr/local/cuda/compute-sanitizer/compute-sanitizer")
         if os.path.exists(path)), None)


def body_of(tool, command):
    def body(limit):
        program = sanitizer()
        if not program:
            return "skipped", "there is no compute-sanitizer", {}
        code, output = run([program, f"--tool={tool}", f"--error-exitcode={FAULTS}",
                            *FLAGS.get(tool, []), *command], limit,
                           env={**os.environ, **VARIABLES.get(tool, {})})
        if "Device not supported" in output or "device is not supported" in output:
            return "skipped", f"the device refuses the tool: {last_lines(output)}", {}
        if code is None:
            return "skipped", f"not done within {limit:.0f} s under this tool", {}
        summary = [line for line in output.splitlines() if "SUMMARY" in line]
        text = last_lines("\n".join(summary) if summary and code in (0, FAULTS) else output)
        return "passed" if code == 0 else "failed", text, {"exit": code}
    return body


def add_sanitizers(report):
    report.check_all([(f"{name}-{tool}", body_of(tool, command), limit)
                      for name, command, limit in targets() for tool in TOOLS])
