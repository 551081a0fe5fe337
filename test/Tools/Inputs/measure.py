"""CPU time and memory of zero-plan: what else the machine does counts little."""

import os
import subprocess
import sys


def measure(model, options, ranks):
    """CPU seconds and KiB of one run."""
    with open(os.devnull, "w") as nothing:
        process = subprocess.Popen(
            ["zero-plan", model, "--pipeline", options, "--ranks", str(ranks)],
            stdout=nothing, stderr=subprocess.PIPE)
        message = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"zero-plan fails for {ranks} ranks, {options}: {message}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss
