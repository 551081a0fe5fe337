"""Sums the results of all tests and of the checks of sources: count_tests.py FOLDER [FILE...]

Reads FOLDER/ctest.xml (JUnit), FOLDER/lit.json, and FOLDER/python.json and
FOLDER/checks.json, which have lit's form, where they exist, prints why each
skipped test was skipped and which ones failed, and ends with one line,
`N passed, N failed, N skipped`. Exits with 1 when a test failed, when none
passed, or when a runner left no results. Of the files those that are named, or all.
"""

import json
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def reason_from_output(output):
    """The text that a skipped test gave, on one line."""
    lines = [line.strip() for line in output.splitlines()]
    kept = []
    for index, line in enumerate(lines):
        # GoogleTest: "file:line: Skipped", then the message.
        if line.endswith(": Skipped"):
            for text in lines[index + 1 :]:
                if not text or text.startswith("["):
                    break
                kept.append(text)
        # A program that leaves out all of its tests: "skipped, no GPU: ...".
        elif line.startswith("skipped, "):
            kept.append(line.removeprefix("skipped, "))
    if not kept:
        # lit: "Test requires the following unavailable features: mpi"
        kept = [line for line in lines if re.match(r"Test (requires|does)", line)]
    # Many tests of one program tend to have one reason.
    return "; ".join(dict.fromkeys(kept)) or "no reason given"


def read_ctest(path):
    """Yields (name, outcome, output) of each test in a JUnit file."""
    for case in xml.parse(path).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        if case.find("failure") is not None or case.get("status") == "fail":
            yield case.get("name"), "failed", output
        elif (skipped := case.find("skipped")) is not None:
            # ctest also writes "skipped" for a test that it could not start.
            asked = skipped.get("message", "").startswith("SKIP_")
            yield case.get("name"), "skipped" if asked else "failed", output
        else:
            yield case.get("name"), "passed", output


def read_lit(path):
    """Yields (name, outcome, output) of each test in lit's JSON."""
    for test in json.loads(path.read_text())["tests"]:
        code = test["code"]
        outcome = (
            "passed" if code in PASSED else "skipped" if code in SKIPPED else "failed"
        )
        yield test["name"], outcome, test.get("output", "")


READERS = {
    "ctest.xml": read_ctest,
    "lit.json": read_lit,
    "python.json": read_lit,
    "checks.json": read_lit,
}


def main(folder, *files):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    complete = True
    for name in files or READERS:
        path = folder / name
        if not path.exists():
            print(f"check: {name} is missing: its tests did not run")
            complete = False
            continue
        for test, outcome, output in READERS[name](path):
            counts[outcome] += 1
            if outcome == "skipped":
                print(f"skipped: {test}: {reason_from_output(output)}")
            elif outcome == "failed":
                print(f"failed: {test}")
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
    return 0 if complete and counts["passed"] and not counts["failed"] else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
