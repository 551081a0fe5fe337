"""Runs the tests of tools/python: python_tests.py ROOT BUILD RESULT.json [PYTHON]

PYTHON is an interpreter whose environment has PyTorch; without one the tests count
as one that is skipped. They use the tools of the build folder BUILD, and run in as many
processes as there are processors. Without ZERO_ALL_TESTS the files of WHOLE_MODELS are
left out, which take half of the time. Writes one entry a test to RESULT.json, as
check_sources.py does.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

NAME = "tools/python"
# Models of libraries, pages, and runs of other trainers.
WHOLE_MODELS = {
    "test_deepspeed.py",
    "test_foreign_state.py",
    "test_models.py",
    "test_training.py",
    "test_tutorial.py",
}


def entry(name, code, output=""):
    return {"name": name, "code": code, "output": output}


def read_results(path):
    """An entry for each test case of a JUnit file."""
    for case in xml.parse(path).getroot().iter("testcase"):
        name = f"{NAME}: {case.get('classname')}.{case.get('name')}"
        skipped = case.find("skipped")
        failed = case.find("failure")
        failed = case.find("error") if failed is None else failed
        if skipped is not None:
            yield entry(name, "SKIPPED", f"skipped, {skipped.get('message')}")
        elif failed is not None:
            yield entry(name, "FAIL", failed.text or "")
        else:
            yield entry(name, "PASS")


def shares(folder, count):
    """The files of tests, dealt to at most `count` processes."""
    left_out = set() if os.environ.get("ZERO_ALL_TESTS") else WHOLE_MODELS
    files = sorted(path.name for path in folder.glob("test_*.py") if path.name not in left_out)
    return [share for share in (files[first::count] for first in range(count)) if share]


def run_tests(root, build, python):
    package = root / "tools" / "python"
    environment = dict(os.environ, ZERO_BIN=str(build / "bin"))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for share in shares(package / "tests", os.cpu_count() or 1):
            results = pathlib.Path(folder, f"{len(runs)}.xml")
            command = [python, "-m", "pytest", "-q", "--junitxml", str(results)]
            command += [f"tests/{file}" for file in share]
            runs.append((results, subprocess.Popen(command, cwd=package, env=environment)))
        for results, run in runs:
            code = run.wait()
            tests = list(read_results(results)) if results.exists() else []
            found += tests
            if code not in (0, 1) or not tests:
                found.append(entry(NAME, "FAIL", f"pytest ended with {code}"))
    return found


def main(root, build, result, python=None):
    if python:
        tests = run_tests(pathlib.Path(root), pathlib.Path(build).resolve(), python)
    else:
        tests = [entry(NAME, "SKIPPED", "skipped, run tools/check --with-torch")]
    pathlib.Path(result).write_text(json.dumps({"tests": tests}, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
