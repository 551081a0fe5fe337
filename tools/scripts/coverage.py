"""Says which share of the lines of lib and runtime tests have run: coverage.py ROOT BUILD [--files]

Reads what the programs of BUILD, the preset `coverage`, have counted in BUILD/profiles, and
prints a line for each folder of lib and runtime of the checkout ROOT, or for each file, with
the lowest share first, and a total. Processes that end by a signal or by _exit count nothing.
"""

import collections
import json
import mmap
import pathlib
import subprocess
import sys

LLVM = pathlib.Path("/usr/lib/llvm-22/bin")
FOLDERS = ("lib", "runtime")


def has_map(path):
    """Whether `path` is a program or library that says where its counters are."""
    if path.suffix in (".a", ".o") or not path.is_file() or path.stat().st_size == 0:
        return False
    with (
        open(path, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        return data[:4] == b"\x7fELF" and data.find(b"__llvm_covmap") >= 0


def export(build):
    """What llvm-cov knows of each file."""
    profiles = sorted((build / "profiles").glob("*.profraw"))
    objects = [path for path in sorted((build / "bin").glob("*")) if has_map(path)]
    if not profiles or not objects:
        sys.exit(
            f"coverage: {build} has no profiles of programs that count; "
            "run tools/check coverage"
        )
    merged = build / "coverage.profdata"
    subprocess.run(
        [
            LLVM / "llvm-profdata",
            "merge",
            "--sparse",
            "--failure-mode=all",
            "-o",
            merged,
            *profiles,
        ],
        check=True,
    )
    command = [
        LLVM / "llvm-cov",
        "export",
        "--summary-only",
        f"--instr-profile={merged}",
    ]
    command += [f"--object={path}" for path in objects]
    out = subprocess.run(command, check=True, capture_output=True)
    return json.loads(out.stdout)["data"][0]["files"]


def main():
    root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    of_files = "--files" in sys.argv[3:]
    counts = collections.defaultdict(lambda: [0, 0])
    for file in export(build):
        path = pathlib.Path(file["filename"])
        if not any(path.is_relative_to(root / folder) for folder in FOLDERS):
            continue
        path = path.relative_to(root)
        lines = file["summary"]["lines"]
        folder = "/".join(path.parts[: min(2, len(path.parts) - 1)])
        for name in (path.as_posix() if of_files else folder, "total"):
            counts[name][0] += lines["covered"]
            counts[name][1] += lines["count"]
    total = counts.pop("total")
    rows = sorted(counts.items(), key=lambda row: row[1][0] / max(1, row[1][1]))
    for name, (covered, lines) in [*rows, ("total", total)]:
        print(f"{100 * covered / max(1, lines):5.1f} % of {lines:6} lines  {name}")


if __name__ == "__main__":
    main()
