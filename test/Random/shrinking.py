#!/usr/bin/env python3
"""Shrinks what random_programs.py has found, while it stays a finding of its kind: first its
settings, then its model, by zero-reduce.

Usage: shrinking.py CASE MODEL, as the test script of zero-reduce: the exit code is 1 where
the model still shows the finding of the file CASE.
"""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

from comparing import Comparison, Finding, Refused

# A variant may hang where the finding does not, and many are tried.
GUARD_SECONDS = 60
# Without them bits may differ: sums in another order, and with quantized traffic those of
# stage 0, which rounds nothing.
NEEDED = ("deterministic", "stage")


class Case:
    """A finding with what is needed to see it again, which a file keeps."""

    def __init__(self, stem, data, fault, kind, settings):
        self.stem, self.data, self.fault, self.kind = stem, data, fault, kind
        self.settings = settings  # of both programs, and of the first one only

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8") as file:
            return Case(**json.load(file))

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.__dict__, file)

    def comparison(self):
        return Comparison(self.data, self.fault, GUARD_SECONDS)

    def options(self, settings=None):
        """Those of the program, and those of stage 0 beside it."""
        both, own = settings or self.settings
        return [both | own, {"stage": 0} | both]

    def is_shown(self, model, settings=None):
        """Whether the model in a file is a finding of the same kind."""
        try:
            self.comparison().run(
                model, self.options(settings), f"{self.stem}.{os.getpid()}"
            )
        except Refused:
            return False
        except Finding as finding:
            return finding.kind == self.kind
        return False

    def shrink_settings(self, model):
        """Leaves out each setting that is not needed."""
        for part in (1, 0):
            for key in list(self.settings[part]):
                if part == 0 and key in NEEDED:
                    continue
                fewer = [dict(each) for each in self.settings]
                del fewer[part][key]
                if self.is_shown(model, fewer):
                    self.settings = fewer

    def shrink_model(self, model):
        """Writes a smaller one over the file, by zero-reduce. Returns whether it is smaller."""
        with tempfile.TemporaryDirectory() as folder:
            return self.reduce(model, folder)

    def reduce(self, model, folder):
        path, script, best = (
            os.path.join(folder, name) for name in ("case.json", "test.sh", "best.mlir")
        )
        self.write(path)
        with open(script, "w", encoding="utf-8") as file:
            file.write(
                "#!/bin/sh\nexec "
                + shlex.join([sys.executable, os.path.abspath(__file__), path])
                + ' "$1"\n'
            )
        os.chmod(script, 0o755)
        # However it ends: the smallest model that showed the finding is in a file.
        subprocess.run(
            ["zero-reduce", model, f"-reduction-tree=traversal-mode=0 test={script}"],
            capture_output=True,
            check=False,
        )
        if not os.path.exists(best) or operations_in(best) >= operations_in(model):
            return False
        shutil.move(best, model)
        return True

    def shrink(self, model):
        """Shrinks the model of a file, and the settings."""
        self.shrink_settings(model)
        while self.shrink_model(model):
            pass
        self.shrink_settings(model)


def operations_in(path):
    """How many operations a model in a file has, each of which is a line."""
    with open(path, encoding="utf-8") as file:
        return sum(line.strip() not in ("", "}", "module {") for line in file)


def judge(path, model):
    """Whether zero-reduce's variant shows the finding. It tries some more than once."""
    folder = os.path.dirname(path)
    with open(model, "rb") as file:
        text = file.read()
    memo = os.path.join(folder, hashlib.sha256(text).hexdigest())
    if os.path.exists(memo):
        with open(memo, encoding="utf-8") as file:
            return file.read() == "shown"
    is_shown = Case.read(path).is_shown(model)
    with open(memo, "w", encoding="utf-8") as file:
        file.write("shown" if is_shown else "not shown")
    best = os.path.join(folder, "best.mlir")
    if is_shown and (
        not os.path.exists(best) or operations_in(model) < operations_in(best)
    ):
        with open(best, "wb") as file:
            file.write(text)
    return is_shown


if __name__ == "__main__":
    sys.exit(1 if judge(*sys.argv[1:]) else 0)
