"""What the bundle reports where something is wrong with the machine: makes a bundle
whose programs only pretend, and runs it. Usage: check_bundle.py FOLDER"""

import os
import shutil
import stat
import subprocess
import sys

BUNDLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundle")
# What zero-device-bench does: a line of shell, the exit code of the bundle, and what
# its summary says.
MACHINES = {
    "absent": ("echo 'no GPU: none is here'; exit 3", 0, "0 failed"),
    "library": ("echo 'error while loading shared libraries: libnccl.so.2: cannot open'; exit 127",
                1, "0 passed"),
    "crash": ("kill -SEGV $$", 1, "0 passed"),
    "error": ("echo 'zero-device-bench: error: out of memory'; exit 1", 1, "0 passed"),
    "unused": ("echo 'no GPU: CUDA driver version is insufficient'; exit 3", 1, "0 passed"),
}


def script(path, text):
    with open(path, "w") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def make(folder, line, has_file):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(BUNDLE, folder)
    for name in ("bin", "programs", "test/Device"):
        os.makedirs(os.path.join(folder, name))
    for name in ("cuda-tests", "cuda-conformance", "nccl-tests"):
        script(os.path.join(folder, "bin", "zero-" + name), "printf 'Suite.\\n  Test\\n'")
    script(os.path.join(folder, "bin", "zero-device-bench"), line)
    with open(os.path.join(folder, "commit"), "w") as file:
        file.write("none")
    with open(os.path.join(folder, "programs", "training.json"), "w") as file:
        file.write("[]")
    with open(os.path.join(folder, "test", "Device", "suite.py"), "w") as file:
        file.write("")
    # Whether the driver has a GPU is looked up in a folder that is the test's.
    path = os.path.join(folder, "report.py")
    with open(path) as file:
        text = file.read()
    device = os.path.join(folder, "nvidia0")
    assert '"/dev/nvidia0"' in text
    with open(path, "w") as file:
        file.write(text.replace('"/dev/nvidia0"', repr(device)))
    if has_file:
        open(device, "w").close()


def main():
    folder = sys.argv[1]
    for name, (line, code, summary) in MACHINES.items():
        make(folder, line, has_file=name == "unused")
        done = subprocess.run([sys.executable, os.path.join(folder, "run"), "checks", "--out",
                               os.path.join(folder, "results")], capture_output=True, text=True)
        last = done.stdout.splitlines()[-1] if done.stdout else done.stderr
        print(f"{name}: exit code {done.returncode}: {last}")
        if done.returncode != code or summary not in last:
            sys.exit(f"{name}: wanted exit code {code} and '{summary}'\n"
                     f"{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
