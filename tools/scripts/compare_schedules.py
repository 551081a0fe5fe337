"""Shows that two builds plan alike: compare_schedules.py OLD_BIN NEW_BIN

Runs zero-opt of both folders on every model of test/Models, at
stages 0 to 3 under several settings, and compares what is planned: operations
and their order, operands, types, layouts and every place in memory. How an operation is written may
differ; what it does may not. For changes that must not change behaviour.
Prints each difference and a count; exits with 1 when there is one.
"""

import argparse
import itertools
import pathlib
import re
import subprocess
import sys

MODELS = pathlib.Path(__file__).resolve().parents[2] / "test" / "Models"
# Settings of zero-pipeline, one of each kind of schedule.
SETTINGS = (
    "ranks=1",
    "ranks=2",
    "ranks=3 accumulation=3 precision=bf16",
    "ranks=4 overlap=true precision=f16",
    "ranks=4 accumulation=2 deterministic=true reduce-bucket-size=5000",
    "ranks=2 precision=bf16 split-master=true overlap=true accumulation=2",
    "ranks=8 layout=contiguous reduce-bucket-size=20000 overlap=true",
    "ranks=4 checkpoint-activations=1 param-persistence-threshold=300",
    "ranks=2 optimizer=sgd momentum=0.9 precision=bf16",
)
PLACE = re.compile(
    r"#zero\.at<([a-z]+)\[(\d+)\](?: on ([a-z]+))?, (\d+) bytes"
    r"(?: stride (\d+)(?: over [^>]*)?)?>"
)
# A state of a partition and its place: `moment1 = #zero.at<..>` or
# `exp_avg f32 at #zero.at<..>`.
STATE = re.compile(r"(\w+)(?: =| \w+(?: on [a-z]+)? at) (?=#zero\.at<)")
RENAMED = {"moment1": "first", "exp_avg": "first", "momentum_buffer": "first",
           "moment2": "second", "exp_avg_sq": "second"}
OPERATION = re.compile(r"(?:= )?((?:zero|nn|arith|math|tensor|linalg|func)\.[a-z_0-9]+)")
TENSOR = re.compile(r"tensor<[^>]*>")
IDENTITY = re.compile(
    r"\s*(%[\w.$-]+) = zero\.(?:gradient|load) .*?(%[\w.$#-]+)(?: \{.*\})? :"
)
VALUE = re.compile(r"%[A-Za-z0-9_.$#-]+")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"compare: {' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


class Values:
    """Values by the operation that makes them, whatever they are called."""

    def __init__(self):
        self.made = {}
        self.operations = 0

    def use(self, name):
        base, _, index = name.partition("#")
        return self.made.get((base, int(index or 0)), name)

    def define(self, results):
        """Takes the left side of an operation: `%a, %b` or `%a:2`."""
        place = 0
        for result in results.split(",") if results else ():
            base, _, count = result.strip().partition(":")
            for index in range(int(count or 1)):
                self.made[base, index] = (self.operations, place)
                place += 1
        self.operations += 1

    def alias(self, name, of):
        self.made[name, 0] = self.use(of)


def essence(line, values):
    """What an operation does, without how it is written."""
    operation = OPERATION.search(line)
    if not operation or line.startswith("#"):
        return None
    # What says whose gradient or parameter a value is computes nothing.
    identity = IDENTITY.match(line)
    if identity:
        values.alias(*identity.groups())
        return None
    places = [p.groups() for p in PLACE.finditer(line)]
    if operation.group(1) == "zero.partition":
        states = (s.group(1) for s in STATE.finditer(line))
        names = [RENAMED.get(state, state) for state in states]
        places = list(itertools.zip_longest(names, places))
    plain = PLACE.sub("", line)
    results, rest = "", plain
    if plain.lstrip().startswith("%"):
        results, _, rest = plain.partition(" = ")
    operands = [values.use(v) for v in VALUE.findall(rest)]
    values.define(results)
    segments = re.search(r"segments \[[^\]]*\]", plain)
    return (
        operation.group(1),
        operands,
        sorted(places, key=str),
        sorted(TENSOR.findall(plain)),
        segments.group(0) if segments else "",
        re.findall(r"#zero\.member<(@\S+ at \d+ size \d+)", plain),
    )


def essences(text):
    values = Values()
    found = (essence(line, values) for line in text.splitlines())
    return [e for e in found if e]


def planned(folder, model, options):
    text = run([f"{folder}/zero-opt", str(model), f"--zero-pipeline={options}"])
    return essences(text)


def differences(old, new):
    for a, b in itertools.zip_longest(old, new):
        if a != b:
            yield a, b


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="folder with the binaries of before")
    parser.add_argument("new", help="folder with the binaries of after")
    parser.add_argument("--only", default="", help="models whose name has this")
    arguments = parser.parse_args()
    compared = failed = 0
    for model in sorted(MODELS.glob("*.mlir")):
        if arguments.only not in model.name:
            continue
        for stage, setting in itertools.product(range(4), SETTINGS):
            options = f"stage={stage} {setting}"
            old = planned(arguments.old, model, options)
            new = planned(arguments.new, model, options)
            compared += 1
            found = list(differences(old, new))
            if not found:
                continue
            failed += 1
            print(f"{model.name} {options}: {len(found)} operations differ; the first:")
            print(f"  old {found[0][0]}\n  new {found[0][1]}")
    print(f"{compared} schedules compared, {failed} differ")
    return 1 if failed or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
