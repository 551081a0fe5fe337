"""Commands that end in time, and what the check that runs them keeps of them."""

import os
import signal
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(ROOT, "bin")
PROGRAMS = os.path.join(ROOT, "programs")
OUTER = dict(os.environ)  # without what the bundle adds
TAIL = 400  # characters of a failure's output that are shown
# What all limits are multiplied by, where the programs of the bundle run slower than on a GPU.
PATIENCE = float(os.environ.get("ZERO_BUNDLE_PATIENCE", "1"))
SKIPPED = 77  # exit code of what cannot run here; the last line says why


class Kept(threading.local):
    """The commands of this thread since the last `take`, as text."""

    def __init__(self):
        self.texts = []

    def add(self, command, status, seconds, output):
        line = " ".join(each if each.replace("-", "").replace("/", "").isalnum() else repr(each)
                        for each in command)
        self.texts.append(f"$ {line}\nexit status: {status}, after {seconds:.1f} s\n{output}\n")

    def take(self):
        texts, self.texts = self.texts, []
        return "\n".join(texts)


kept = Kept()


def run(command, limit, cwd=None, env=None, during=None):
    """Exit code and output of `command`, which ends after `limit` seconds at the latest; the
    exit code is then None. `during` is called with the process when it runs, and its time is
    not counted."""
    begin = time.monotonic()
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, text=True, errors="replace",
                                   cwd=cwd, env=env, start_new_session=True)
    except OSError as error:
        kept.add(command, 127, 0, str(error))
        return 127, str(error)
    try:
        if during:
            during(process)
        output, code = process.communicate(timeout=limit)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, code = process.communicate()[0], None
    status = f"none, killed at the limit of {limit:.0f} s" if code is None else code
    kept.add(command, status, time.monotonic() - begin, output)
    return code, output


def binary(name):
    return os.path.join(BIN, name)


def last_lines(output, count=3):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return " | ".join(lines[-count:])[-TAIL:]


def body_of(command, skips=()):
    """The body of a check that is a command; exit codes of `skips` mean that it cannot run."""
    def body(limit):
        code, output = run(command, limit)
        if code is None:
            return "failed", f"does not end within {limit:.0f} s: {last_lines(output)}", {}
        if code in skips:
            return "skipped", last_lines(output, 1), {}
        return "passed" if code == 0 else "failed", last_lines(output), {"exit": code}
    return body
