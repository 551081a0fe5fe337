"""A bundle whose programs only pretend to be on a GPU, for the tests beside it.

Two stand-ins for zero-device-run: `BENCH` is zero-bench-run, which trains on a model of a
device; `scripted` writes the metrics that a test wants, so that no verdict depends on a clock.
"""

import json
import os
import shutil
import stat
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FACTS = {"gpu": "model of an H100", "gpus": 1, "in_use": 0, "shares_devices": False}
# What ends by itself has time to do so on a busy machine; half an hour is the least limit.
PATIENT = {"ZERO_BUNDLE_PATIENCE": "60"}
# Processes share no model of NCCL, so they add through the host.
BENCH = """if [ -n "$OMPI_COMM_WORLD_RANK" ]; then
  for flag; do
    shift
    case $flag in
      --collectives=* | --share-gpu) ;;
      *) set -- "$@" "$flag" ;;
    esac
  done
  set -- "$@" --share-gpu --collectives=host
fi
exec zero-bench-run "$@"
"""


def script(path, text, program="/bin/sh"):
    with open(path, "w") as file:
        file.write(f"#!{program}\n{text}\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def make(folder, device="exit 3", trainer="exit 1"):
    """Writes a bundle without programs; `device` and `trainer` are what zero-device-bench
    and zero-device-run do, in shell."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(HERE, "bundle"), folder)
    for name in ("bin", "programs/suite", "test/Device"):
        os.makedirs(os.path.join(folder, name))
    for name in ("cuda-tests", "cuda-conformance", "nccl-tests"):
        script(os.path.join(folder, "bin", "zero-" + name), "printf 'Suite.\\n  Test\\n'")
    script(os.path.join(folder, "bin", "zero-device-bench"), device)
    script(os.path.join(folder, "bin", "zero-device-run"), trainer)
    for name, text in (("commit", "none"), ("cuda", "13.0"), ("programs/training.json", "[]"),
                       ("programs/models.json", "[]"), ("test/Device/suite.py", "")):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    # Whether the driver has a GPU is looked up in a folder that is the test's.
    replace(os.path.join(folder, "machine.py"), '"/dev/nvidia0"',
            repr(os.path.join(folder, "nvidia0")))


def replace(path, old, new):
    with open(path) as file:
        text = file.read()
    assert old in text
    with open(path, "w") as file:
        file.write(text.replace(old, new))


def prints(**facts):
    """What zero-device-bench does where there is a GPU, in shell."""
    return f"echo '{json.dumps({**FACTS, **facts})}'"


def run(folder, part, *flags, **environment):
    """The rows of a part by name, and the process."""
    shutil.rmtree(os.path.join(folder, "results"), ignore_errors=True)
    done = subprocess.run([sys.executable, os.path.join(folder, "run"), part, "--out",
                           os.path.join(folder, "results"), *flags], capture_output=True,
                          text=True, env={**os.environ, **PATIENT, **environment})
    path = os.path.join(folder, "results", part + ".json")
    if not os.path.exists(path):
        sys.exit(f"{part}: no results: {done.stdout}{done.stderr}")
    with open(path) as file:
        rows = {row["check"]: row for row in json.load(file)["checks"]}
    return rows, done


def expect(rows, **statuses):
    """`statuses` by name, where _ is -: a status, or one and a part of the text."""
    for name, wanted in statuses.items():
        row = rows.get(name if name in rows else name.replace("_", "-"))
        if row is None:
            sys.exit(f"there is no row {name}, but {sorted(rows)}")
        status, text = wanted if isinstance(wanted, tuple) else (wanted, "")
        if row["status"] != status or text not in row["text"]:
            sys.exit(f"{row['check']}: wanted {status} with '{text}', found {row['status']}: "
                     f"{row['text']}")
        print(f"{row['check']}: {status}")
