"""Runs the tests of tools/python: python_tests.py ROOT BUILD RESULT.json [PYTHON]

PYTHON is an interpreter whose environment has PyTorch; without one the tests count
as one that is skipped. They use the tools of the build folder BUILD. Writes one
entry a test to RESULT.json, as check_sources.py does.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

NAME = "tools/python"


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


def run_tests(root, build, python):
    environment = dict(os.environ, ZERO_BIN=str(build / "bin"))
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder, "results.xml")
        done = subprocess.run(
            [python, "-m", "pytest", "-q", "--junitxml", str(results), "tests"],
            cwd=root / "tools" / "python",
            env=environment,
        )
        found = list(read_results(results)) if results.exists() else []
    if done.returncode not in (0, 1) or not found:
        found.append(entry(NAME, "FAIL", f"pytest ended with {done.returncode}"))
    return found


def main(root, build, result, python=None):
    if python:
        tests = run_tests(pathlib.Path(root), pathlib.Path(build).resolve(), python)
    else:
        tests = [entry(NAME, "SKIPPED", "skipped, run tools/check --with-torch")]
    pathlib.Path(result).write_text(json.dumps({"tests": tests}, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
