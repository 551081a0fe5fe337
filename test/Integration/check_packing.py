"""Plans every model at every stage and compares arenas with their bounds."""

import pathlib
import re
import subprocess
import sys

LINE = re.compile(r"^  (\w+): \d+ bytes.*, lower bound (\d+), ratio ([0-9.]+)", re.M)
WANTED = 1.02
SETTINGS = [
    f"stage={stage} ranks={ranks} precision={precision} {rest}"
    for stage in range(4)
    for ranks, precision, rest in (
        (4, "bf16", ""),
        (3, "f32", "accumulation=2 reduce-bucket-size=65536"),
    )
]


def ratios(model, setting):
    run = subprocess.run(
        [
            "zero-opt",
            str(model),
            f"--zero-pipeline={setting}",
            "--zero-plan-memory=report",
            "-o=/dev/null",
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    if run.returncode:
        sys.exit(f"{model.name}, {setting}: {run.stderr}")
    found = LINE.findall(run.stderr)
    if not found:
        sys.exit(f"{model.name}, {setting}: no ratios in {run.stderr}")
    return found


def main():
    worst = 0.0
    for model in sorted(pathlib.Path(sys.argv[1]).glob("*.mlir")):
        for setting in SETTINGS:
            for arena, bound, ratio in ratios(model, setting):
                print(model.name, setting, arena, bound, ratio)
                worst = max(worst, float(ratio))
    print("worst ratio:", worst)
    if worst > WANTED:
        sys.exit(f"a plan needs {worst} times what is alive, more than {WANTED}")


main()
