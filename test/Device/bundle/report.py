"""Checks, one line each, and the files that keep them."""

import json
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.join(ROOT, "bin")
BEGIN = time.monotonic()  # of the process: what looks at the machine counts too
OUTER = dict(os.environ)  # without what the bundle adds
TAIL = 400  # characters of a failure's output that are shown
NO_DEVICE = 3  # exit code of zero-device-bench where CUDA sees no GPU
DEVICE_FILE = "/dev/nvidia0"  # is there where the driver has a GPU


def run(command, limit, cwd=None, env=None):
    """Exit code and output of `command`, which ends after `limit` seconds at the
    latest; the exit code is then None."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, text=True, errors="replace",
                                   cwd=cwd, env=env, start_new_session=True)
    except OSError as error:
        return 127, str(error)
    try:
        output = process.communicate(timeout=limit)[0]
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]


def binary(name):
    return os.path.join(BIN, name)


def last_lines(output, count=3):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return " | ".join(lines[-count:])[-TAIL:]


class Machine:
    """What is here. `missing` says why there is no GPU, or is None; `broken` says why one
    cannot be asked for, or is None: then nothing is known of the target, which is a failure."""

    def __init__(self):
        code, output = run([binary("zero-device-bench"), "device"], 120)
        self.facts = json.loads(output.splitlines()[-1]) if code == 0 else {}
        self.missing = self.broken = None
        if code is None:
            self.broken = "the GPU does not answer within two minutes"
        elif code == NO_DEVICE and os.path.exists(DEVICE_FILE):
            self.broken = f"there is {DEVICE_FILE}, and CUDA sees none: {last_lines(output, 1)}"
        elif code == NO_DEVICE:
            self.missing = last_lines(output, 1)
        elif code != 0:
            self.broken = f"zero-device-bench: exit code {code}: {last_lines(output)}"
        code, output = run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                           30)
        if code == 0 and output.strip():
            self.facts["driver"] = output.split()[0]
        with open(os.path.join(ROOT, "commit")) as file:
            self.facts["commit"] = file.read().strip()


class Report:
    """The checks of one part. A part ends in time: what would begin after
    `deadline` seconds is skipped."""

    def __init__(self, part, machine, folder, deadline, only, begin):
        self.part, self.machine, self.folder, self.only = part, machine, folder, only
        self.deadline, self.begin = deadline, begin
        self.rows = []
        self.lock = threading.Lock()

    def left(self):
        return self.deadline - (time.monotonic() - self.begin)

    def add(self, name, status, seconds, text, **numbers):
        with self.lock:
            self.rows.append({"check": name, "status": status, "seconds": round(seconds, 2),
                              "text": text, **numbers})
            self.write()
            print(f"{status:7} {self.part}/{name} ({seconds:.1f} s): {text}", flush=True)

    def check(self, name, body, limit):
        """Calls `body(limit)`, which returns a status, a text and numbers."""
        if self.only and self.only not in name:
            return
        begin = time.monotonic()
        if self.machine.broken:
            return self.add(name, "failed", 0, self.machine.broken)
        if self.machine.missing:
            return self.add(name, "skipped", 0, self.machine.missing)
        if self.left() < 5:
            return self.add(name, "skipped", 0, f"no time is left of {self.deadline} s: run "
                            f"this part again with --only {name}")
        try:
            status, text, numbers = body(min(limit, self.left()))
        except Exception as error:  # a check's own fault is a failed check
            status, text, numbers = "failed", f"{type(error).__name__}: {error}", {}
        self.add(name, status, time.monotonic() - begin, text, **numbers)

    def check_all(self, checks):
        """Checks of no times, several at a time: (name, body, limit) each."""
        together = max(2, min(8, len(os.sched_getaffinity(0)) // 2))
        with ThreadPoolExecutor(together) as pool:
            for each in [pool.submit(self.check, *check) for check in checks]:
                each.result()

    @staticmethod
    def command(command, skips=()):
        """The body of a check that is a command; exit codes of `skips` mean that it
        cannot run."""
        def body(limit):
            code, output = run(command, limit)
            if code is None:
                return "failed", f"does not end within {limit:.0f} s: {last_lines(output)}", {}
            if code in skips:
                return "skipped", last_lines(output, 1), {}
            return "passed" if code == 0 else "failed", last_lines(output), {"exit": code}
        return body

    def count(self, status):
        return sum(row["status"] == status for row in self.rows)

    def summary(self):
        return ", ".join(f"{self.count(status)} {status}"
                         for status in ("passed", "failed", "skipped"))

    def write(self):
        """The files, after every row: whoever ends the part leaves what is known."""
        summary, path = self.summary(), os.path.join(self.folder, self.part)
        os.makedirs(self.folder, exist_ok=True)
        with open(path + ".json", "w") as file:
            json.dump({"part": self.part, "machine": self.machine.facts, "checks": self.rows,
                       "missing": self.machine.missing, "broken": self.machine.broken,
                       "summary": summary}, file, indent=1)
        with open(path + ".md", "w") as file:
            file.write(f"# {self.part}: {summary}\n\n")
            for key, value in self.machine.facts.items():
                file.write(f"- {key}: {value}\n")
            file.write("\n| check | status | s | |\n| --- | --- | --- | --- |\n")
            for row in self.rows:
                text = row["text"].replace("|", "/")
                file.write(f"| {row['check']} | {row['status']} | {row['seconds']} | {text} |\n")

    def finish(self):
        """Writes the files, prints the summary; returns the exit code."""
        self.write()
        path = os.path.join(self.folder, self.part)
        print(f"{self.part}: {self.summary()}; see {path}.json and {path}.md")
        return 1 if self.count("failed") else 0
