"""Checks, one line each, and the files that keep them."""

import glob
import json
import os
import re
import tarfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from commands import PATIENCE, kept

BEGIN = time.monotonic()  # of the process: what looks at the machine counts too


class Report:
    """The checks of one part. A part ends in time: what would begin after
    `deadline` seconds is skipped."""

    def __init__(self, part, machine, folder, deadline, only, begin):
        self.part, self.machine, self.folder, self.only = part, machine, folder, only
        self.deadline, self.begin = deadline, begin
        os.makedirs(folder, exist_ok=True)
        self.rows = []
        self.lock = threading.Lock()

    def left(self):
        return self.deadline * PATIENCE - (time.monotonic() - self.begin)

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
                            f"{self.part} --only {name}")
        kept.take()
        try:
            status, text, numbers = body(min(limit * PATIENCE, self.left()))
        except Exception as error:  # a check's own fault is a failed check
            status, text, numbers = "failed", f"{type(error).__name__}: {error}", {}
        numbers = {**numbers, **self.keep(name, status, text)}
        self.add(name, status, time.monotonic() - begin, text, **numbers)

    def keep(self, name, status, text):
        """The whole output of what did not pass, in a file; its name for the row."""
        commands = kept.take()
        if status == "passed" or not commands:
            return {}
        path = os.path.join(self.part, re.sub(r"[^\w.=-]+", "-", name) + ".txt")
        os.makedirs(os.path.join(self.folder, self.part), exist_ok=True)
        with open(os.path.join(self.folder, path), "w") as file:
            file.write(f"{self.part}/{name}: {status}: {text}\n")
            file.writelines(f"{key}: {value}\n" for key, value in self.machine.facts.items())
            file.write(f"again: run {self.part} --only {name}\n"
                       f"the machine: environment.txt\n\n{commands}")
        return {"output": path}

    def check_all(self, checks):
        """Checks of no times, several at a time: (name, body, limit) each."""
        together = max(2, min(8, len(os.sched_getaffinity(0)) // 2))
        with ThreadPoolExecutor(together) as pool:
            for each in [pool.submit(self.check, *check) for check in checks]:
                each.result()

    def count(self, status):
        return sum(row["status"] == status for row in self.rows)

    def summary(self):
        return ", ".join(f"{self.count(status)} {status}"
                         for status in ("passed", "failed", "skipped"))

    def write(self):
        """The files, after every row: whoever ends the part leaves what is known."""
        summary, path = self.summary(), os.path.join(self.folder, self.part)
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
                if "output" in row:
                    text += f" ([output]({row['output']}))"
                file.write(f"| {row['check']} | {row['status']} | {row['seconds']} | {text} |\n")

    def finish(self):
        """Writes the files, prints the summary; returns the exit code."""
        self.write()
        path = os.path.join(self.folder, self.part)
        print(f"{self.part}: {self.summary()}; see {path}.json and {path}.md")
        return 1 if self.count("failed") else 0


def pack(folder, machine):
    """The archive of all results beside `folder`, with an index of what is in it."""
    with open(os.path.join(folder, "environment.txt"), "w") as file:
        file.write(machine.describe())
    lines = ["# Results", "", "[The machine](environment.txt)", ""]
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as file:
            part = json.load(file)
        name = part["part"]
        lines.append(f"- {name}: {part['summary']}: [{name}.md]({name}.md), {name}.json")
        lines += [f"  - {row['check']} {row['status']}: "
                  + (f"[{row['output']}]({row['output']})" if "output" in row else row["text"])
                  for row in part["checks"] if row["status"] == "failed"]
    with open(os.path.join(folder, "index.md"), "w") as file:
        file.write("\n".join(lines) + "\n")
    archive = os.path.abspath(folder).rstrip("/") + ".tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(folder, os.path.basename(os.path.abspath(folder)))
    return archive
