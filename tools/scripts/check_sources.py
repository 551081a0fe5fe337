"""Checks sources without running them: check_sources.py ROOT BUILD RESULT.json

Runs clang-format over all tracked C++ and CUDA files of the checkout ROOT, looks in them
for casts of numbers to shared enumerations, runs check_clock.py over its tests, and
clang-tidy on the lines that changed since the merge base with main, or since the parent
commit where main has everything; uncommitted changes count. clang-tidy reads the
compilation database of BUILD, which must be built, since headers are generated.

Writes one entry a check to RESULT.json, as `{"tests": [{"name", "code",
"output"}]}` with the codes PASS, FAIL and SKIPPED, which count_tests.py adds up.

Environment:
  ZERO_CHECK_BASE     the commit that changes are counted from
  ZERO_TIDY_SECONDS   how long clang-tidy may go on to start on another file
                      (180); files that it does not reach are skipped
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import check_clock

FORMAT = "clang-format-22"
TIDY = "clang-tidy-22"
FORMATTED = ("*.cpp", "*.h", "*.cu", "*.cuh")
SHARED_ENUMS = ("include/zero/Dialect/Zero/SharedEnums.td", "include/zero/Dialect/NN/NNEnums.td")


def entry(name, code, output=""):
    return {"name": name, "code": code, "output": output}


def skipped(name, reason):
    return entry(name, "SKIPPED", f"skipped, {reason}")


def git(root, *arguments):
    """Standard output of git, or None where it fails."""
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True
    )
    return done.stdout if done.returncode == 0 else None


def check_format(root):
    files = git(root, "ls-files", "-z", "--", *FORMATTED)
    if files is None:
        return skipped(FORMAT, "not a git checkout: no list of tracked files")
    if not shutil.which(FORMAT):
        return skipped(FORMAT, f"{FORMAT} is not installed")
    # Deleted files are still tracked until the deletion is committed.
    paths = [name for name in files.split("\0") if name and (root / name).exists()]
    done = subprocess.run(
        [FORMAT, "--dry-run", "--Werror", *paths],
        cwd=root,
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        return entry(FORMAT, "PASS")
    wrong = dict.fromkeys(re.findall(r"^(.+?):\d+:\d+: error", done.stderr, re.M))
    return entry(FORMAT, "FAIL", f"run {FORMAT} -i " + " ".join(wrong))


def check_casts(root):
    """Whether a number becomes a case of an enumeration that is generated: the number of
    another enumeration would do so unnoticed."""
    name = "no casts to shared enumerations"
    records = [root / path for path in SHARED_ENUMS if (root / path).exists()]
    if not records:
        return skipped(name, f"there is no {SHARED_ENUMS[0]}")
    text = "".join(path.read_text() for path in records)
    pairs = re.findall(r'\w+_(?:Shared|Runtime)Enum<"(\w+)"(?:, "(\w+)",)?', text)
    names = "|".join(sorted({each for pair in pairs for each in pair if each}))
    cast = re.compile(rf"static_cast<(?:\w*::)*(?:{names})>|(?<![\w.>~])(?:{names})\((?!\)|const )")
    files = git(root, "ls-files", "-z", "--", *FORMATTED)
    if files is None:
        return skipped(name, "not a git checkout: no list of tracked files")
    problems = [
        f"{path}:{number}: '{found[0]}' casts to an enumeration: go over its cases with "
        "kCasesOf, or convert with toRuntime, fromRuntime or findByName"
        for path in files.split("\0")
        if path and (root / path).exists()
        for number, line in enumerate((root / path).read_text().splitlines(), 1)
        if (found := cast.search(line.split("//")[0]))
    ]
    return entry(name, "FAIL" if problems else "PASS", "\n".join(problems))


def check_tests(root):
    """Whether tests depend on the clock."""
    name = "tests without a clock"
    if git(root, "rev-parse", "HEAD") is None:
        return skipped(name, "not a git checkout: no list of tracked files")
    problems = list(check_clock.check(root, check_clock.MEANT))
    return entry(name, "FAIL" if problems else "PASS", "\n".join(problems))


def find_base(root):
    """The commit that changes are counted from, or None and the reason."""
    chosen = os.environ.get("ZERO_CHECK_BASE")
    if chosen:
        base = git(root, "rev-parse", "--verify", "--quiet", chosen + "^{commit}")
        if base is None:
            sys.exit(f"check: ZERO_CHECK_BASE names no commit: {chosen}")
        return base.strip(), ""
    head = git(root, "rev-parse", "HEAD")
    if head is None:
        return None, "not a git checkout: nothing to compare with"
    for main in ("origin/main", "main"):
        base = git(root, "merge-base", main, "HEAD")
        if base and base != head:
            return base.strip(), ""
    # Main has it all: look at what landed last.
    parent = git(root, "rev-parse", "--verify", "--quiet", "HEAD^")
    if parent is None:
        return None, "no earlier commit to compare with"
    return parent.strip(), ""


def changed_lines(root, base):
    """The ranges of lines of each file that differ from `base`."""
    form = ("--unified=0", "--no-color", "--no-ext-diff", "--dst-prefix=b/")
    diff = git(root, "diff", *form, base, "--", "*.cpp", "*.h")
    ranges, name = {}, None
    for line in (diff or "").splitlines():
        if line.startswith("+++ "):
            name = line[6:] if line.startswith("+++ b/") else None
        elif name and (hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            if count:
                ranges.setdefault(name, []).append([first, first + count - 1])
    return ranges


def read_database(root, build):
    """The compilation database of the files under `root`, by their names, without
    those that nvcc compiles, whose options clang-tidy does not know. A precompiled
    header is included as text: clang-tidy need not be built alike."""
    database = {}
    for each in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(each["directory"], each["file"]).resolve()
        if path.is_relative_to(root) and path.suffix != ".cu":
            command = re.sub(r"-Xclang -include-pch -Xclang \S+", "", each["command"])
            database[str(path.relative_to(root))] = {**each, "command": command}
    return database


def stem(name):
    return pathlib.PurePath(name).stem


def units_to_check(known, changed):
    """Those of the `known` sources that show the changed lines: each changed one,
    and for a changed header the one of its name. Then the changed files that none
    of them shows."""
    headers = {stem(name) for name in changed if name.endswith(".h")}
    units = [name for name in known if name in changed or stem(name) in headers]
    # The largest change first: time may not suffice for all.
    units.sort(key=lambda name: (-len(changed.get(name, ())), name))
    shown = {stem(name) for name in units}
    missing = [
        name
        for name in sorted(changed)
        if name not in units and not (name.endswith(".h") and stem(name) in shown)
    ]
    return units, missing


def check_tidy_unit(root, database, name, line_filter):
    done = subprocess.run(
        [
            TIDY,
            "--quiet",
            "--warnings-as-errors=*",
            f"--line-filter={line_filter}",
            f"-p={database}",
            name,
        ],
        cwd=root,
        capture_output=True,
        text=True,
    )
    code = "PASS" if done.returncode == 0 else "FAIL"
    return entry(f"{TIDY} {name}", code, done.stdout if code == "FAIL" else "")


def check_tidy(root, build):
    if not shutil.which(TIDY):
        return [skipped(TIDY, f"{TIDY} is not installed")]
    base, reason = find_base(root)
    if base is None:
        return [skipped(TIDY, reason)]
    changed = changed_lines(root, base)
    if not changed:
        return [skipped(TIDY, f"no line of C++ was added since {base[:12]}")]
    database = read_database(root, build)
    units, missing = units_to_check(database, changed)
    alone = [
        skipped(f"{TIDY} {name}", "no source of this name in the compilation database")
        for name in missing
    ]
    line_filter = json.dumps(
        [{"name": name, "lines": lines} for name, lines in changed.items()]
    )
    end = time.monotonic() + float(os.environ.get("ZERO_TIDY_SECONDS", "180"))

    def check(name):
        if time.monotonic() > end:
            late = "not reached within ZERO_TIDY_SECONDS"
            return skipped(f"{TIDY} {name}", late)
        return check_tidy_unit(root, folder, name, line_filter)

    with (
        tempfile.TemporaryDirectory() as folder,
        concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        commands = pathlib.Path(folder) / "compile_commands.json"
        commands.write_text(json.dumps(list(database.values())))
        return [*pool.map(check, units), *alone]


def main(root, build, result):
    root = root.resolve()
    entries = [check_format(root), check_casts(root), check_tests(root)]
    entries += check_tidy(root, build.resolve())
    for each in entries:
        if each["code"] == "FAIL":
            print(each["output"].rstrip())
    result.write_text(json.dumps({"tests": entries}))


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
