"""Measures this machine with a model and predicts other stages, rank counts and bucket
sizes from that. With ZERO_ALL_TESTS predictions are compared with what updates take, which
no test that must pass on any machine can ask.

The machine may be busy with other tests. So ranks have one thread each, and
what counts is the time for which they compute, not the clock. That time varies
too, since tests share caches and cores: a case that is off is measured again,
after another calibration, and fails when it is off in every round.
"""

import json
import os
import resource
import subprocess
import sys

from training import ALL_CASES

folder, model = sys.argv[1:3]
# The prediction is within a fifth of what was measured, or the other way round.
FACTOR = 1.25
ROUNDS = 4
# What an update takes at least: less says more of the measurement.
LEAST_SECONDS = 0.02
FEW, MANY = 2, 10  # updates
# Ranks a core, and options.
CASES = [(1, "stage=0"), (1, "stage=2 reduce-bucket-size=200000"),
         (1, "stage=3 accumulation=2"), (2, "stage=1")]


def run(*command):
    """The output of a command, and the seconds that it computed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return output, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def calibrate(machine, ranks):
    """Writes the file of this machine; returns what is in it."""
    run("zero-plan", "calibrate", model, "-o", machine, "--ranks", f"1,{ranks}",
        "--pipeline=stage=1")
    with open(machine) as file:
        measured = json.load(file)
    assert measured["works_at_wait"] and measured["cores"] >= 1
    assert {kernel["ranks"] for kernel in measured["kernels"]} == {1, ranks}
    assert {entry["ranks"] for entry in measured["collectives"]} == {ranks}
    assert all(e["seconds"] >= 0 for e in measured["kernels"] + measured["collectives"])
    assert any(k["kernel"].startswith("nn.linear(") for k in measured["kernels"])
    return measured


def check_shared_core(machine):
    """Three ranks share a core, which is as fast as they are together."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    run("zero-plan", "calibrate", model, "-o", machine, "--ranks", "3", "--pipeline=stage=1")
    os.sched_setaffinity(0, allowed)
    with open(machine) as file:
        measured = json.load(file)
    ratio = measured["core_bandwidth"] / measured["bandwidth"]
    assert abs(ratio - 1) < 1e-6, f"of one core's bandwidth 'core_bandwidth' is {ratio}"


def predict(case, machine):
    """Seconds of an update, by the file of this machine."""
    plan = json.loads(run("zero-plan", model, "--pipeline", case, "--machine", machine,
                          "--json", "-")[0])
    assert plan["prediction"]["seconds"] > 0, case
    return plan["prediction"]["seconds"]


def compare(case, machine, cores, text):
    """Predicted seconds of an update over those for which it computed."""
    executable = os.path.join(folder, "train")
    run("zero-compile", model, "--pipeline", case, "-o", executable)
    few, many = (run(executable, "--data", text, "--threads", "1", "--steps", str(steps))[1]
                 for steps in (FEW, MANY))
    seconds = (many - few) / (MANY - FEW) / cores
    predicted = predict(case, machine)
    print(f"{case}: predicted {predicted:.4f} s, computed for {seconds:.4f} s, "
          f"ratio {predicted / seconds:.2f}", flush=True)
    if seconds < LEAST_SECONDS:
        sys.exit(f"{case}: an update takes {seconds:.4f} s, which is too little to compare")
    return predicted / seconds


def main():
    os.makedirs(folder, exist_ok=True)
    machine, text = (os.path.join(folder, name) for name in ("machine.json", "text.txt"))
    with open(text, "w") as file:
        file.write("to be or not to be, that is the question " * 500)
    check_shared_core(machine)
    ranks = max(2, len(os.sched_getaffinity(0)))
    left = {f"{case} ranks={load * ranks}": [] for load, case in CASES}
    if not ALL_CASES:
        calibrate(machine, ranks)
        for case in left:
            predict(case, machine)
        return
    for _ in range(ROUNDS):
        cores = calibrate(machine, ranks)["cores"]
        for case in list(left):
            left[case].append(compare(case, machine, cores, text))
            if 1 / FACTOR < left[case][-1] < FACTOR:
                del left[case]
        if not left:
            return
    sys.exit("predicted, of what was measured, in each round: " + "; ".join(
        f"{case}: {', '.join(f'{ratio:.2f}' for ratio in ratios)}"
        for case, ratios in left.items()))


main()
