"""Trains a model compiled in two ways, and compares the results bitwise: see random_programs.py."""

import hashlib
import os
import re
import shlex
import subprocess

UPDATES = 4
# A run of a model with so few elements takes milliseconds; what hangs does not.
GUARD_SECONDS = 600


def written(options):
    return " ".join(f"{key}={value}" for key, value in options.items())


def pattern_of(message):
    """A message without names, places and numbers."""
    return re.sub(r"'[^']*'|@\S+|\S*/\S+|\d+", "_", message)[:110]


class Finding(Exception):
    """What must not be. Findings of the same kind are likely of the same cause."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


class Refused(Exception):
    """What the compiler refuses with an error at a place."""


class Comparison:
    """Trains on tokens of a file. A fault (`--inject`) is that of the first program."""

    def __init__(self, data, fault=None, guard=GUARD_SECONDS):
        self.data, self.fault, self.guard = data, fault, guard

    def call(self, command):
        name = os.path.splitext(os.path.basename(command[0]))[1] or command[0]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=self.guard
            )
        except subprocess.TimeoutExpired as error:
            raise Finding(
                f"{name} hangs", shlex.join(command) + " does not end"
            ) from error
        if done.returncode not in (0, 1):
            raise Finding(
                f"{name} ends with {done.returncode}",
                f"{shlex.join(command)}\nends with {done.returncode}: {done.stderr}",
            )
        return done

    def compile(self, command):
        done = self.call(command)
        if done.returncode == 0:
            return
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        if not errors or not re.match(r"\S+:\d+:\d+: error: |\S+: error: ", errors[0]):
            raise Finding(
                "refused without a place", f"no error with a place: {done.stderr}"
            )
        reason = errors[0].split("error: ", 1)[1]
        if "this is an internal error" in done.stderr:
            raise Finding(
                "internal error: " + pattern_of(reason), f"internal error: {reason}"
            )
        raise Refused(reason)

    def train(self, command, program):
        done = self.call(command)
        if done.returncode != 0:
            lines = done.stderr.splitlines() or [""]
            raise Finding(
                "fails: " + pattern_of(lines[0]), f"{program} fails: {done.stderr}"
            )
        weights, metrics = program + ".safetensors", program + ".jsonl"
        with open(weights, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        with open(metrics, encoding="utf-8") as file:
            losses = re.findall(r'"loss": ?[^,}]+', file.read())
        return digest, losses

    def commands(self, model, options, stem):
        """What compiles and trains it with the first options, and with the second ones: pairs
        of commands, with the program's path."""
        result = []
        for each, suffix, fault in zip(options, (".own", ".zero"), (self.fault, None)):
            program = stem + suffix
            result.append(
                (
                    [
                        "zero-compile",
                        model,
                        f"--pipeline={written(each)}",
                        "-o",
                        program,
                    ],
                    [
                        program,
                        "--data",
                        self.data,
                        "--steps",
                        str(UPDATES),
                        "--threads",
                        "1",
                        "--seed",
                        "3",
                        "--save-weights",
                        program + ".safetensors",
                        "--metrics",
                        program + ".jsonl",
                        *(["--inject", fault] if fault else []),
                    ],
                    program,
                )
            )
        return result

    def run(self, model, options, stem):
        """Raises Refused or Finding where both do not train alike; leaves no files."""
        commands = self.commands(model, options, stem)
        try:
            for compiles, _, _ in commands:
                self.compile(compiles)
            found, wanted = (
                self.train(trains, program) for _, trains, program in commands
            )
        finally:
            for _, _, program in commands:
                for suffix in ("", ".safetensors", ".jsonl"):
                    if os.path.exists(program + suffix):
                        os.remove(program + suffix)
        if found != wanted:
            raise Finding(
                "other bits",
                f"other {'weights' if found[1] == wanted[1] else 'losses'}: "
                f"{found[1]} in place of {wanted[1]}",
            )

    def script(self, model, options, stem):
        """A shell script that does the same, and ends with 1 where bits differ."""
        lines = []
        for compiles, trains, program in self.commands(model, options, stem):
            lines += [
                shlex.join(compiles),
                shlex.join(trains) + " >/dev/null",
                f"""grep -o '"loss": *[^,}}]*' {shlex.quote(program)}.jsonl """
                f">{shlex.quote(program)}.losses",
            ]
        own, zero = (
            shlex.quote(program)
            for _, _, program in self.commands(model, options, stem)
        )
        return (
            "\n".join(
                [
                    "#!/bin/sh",
                    "set -e",
                    *lines,
                    f"cmp {own}.losses {zero}.losses",
                    f"cmp {own}.safetensors {zero}.safetensors",
                ]
            )
            + "\n"
        )
