"""Measures the seconds of a core that zero-compile and its linker take.

Usage: compile_time.py <folder> <model.mlir> <most seconds>

The least of three runs counts: other processes only make it more.
"""

import os
import resource
import subprocess
import sys

OPTIONS = [["--ranks=1"]] + [[f"--stage={stage}", "--ranks=4", "--pipeline=precision=bf16"]
                             for stage in range(4)]


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(*command):
    before = used()
    subprocess.run(command, check=True)
    return used() - before


folder, model, most = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
executable = os.path.join(folder, "train")
for options in OPTIONS:
    seconds = min(measure("zero-compile", model, "-o", executable, *options)
                  for _ in range(3))
    print(f"{' '.join(options)}: {seconds:.2f} s")
    subprocess.run([executable, "--info"], check=True, stdout=subprocess.DEVNULL)
    if seconds > float(most):
        sys.exit(f"{' '.join(options)}: took {seconds:.2f} s of a core, wanted at most {most}")
