"""Finds tests that depend on the clock: check_clock.py ROOT

A test passes or fails alike on a machine of any speed. What waits, waits for an event; a
limit that only ends what hangs is at least ten minutes. This looks for shorter limits, for
sleeps and for clocks in the tests of the checkout ROOT. Where one is meant, `MEANT` has the
file, the rule, the number of lines and the reason.
"""

import pathlib
import re
import subprocess
import sys

LEAST_LIMIT = 600  # seconds
FOLDERS = ("test", "tools/fuzz", "tools/python/tests")
NUMBER = r"(\d+(?:\.\d+)?)"
# Of C++: what a number of std::chrono counts, in seconds.
UNITS = {"microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1, "minutes": 60, "hours": 3600}

# A number that each of these captures is one of seconds.
LIMITS = (
    rf"\btimeout\s*=\s*{NUMBER}",  # Python: subprocess, threads, queues
    rf"\btimeoutSeconds\s*=(?:[^;]*\?)?\s*{NUMBER}",
    rf"\balarm\s*\(\s*{NUMBER}",
    rf"\bTIMEOUT\s+{NUMBER}",  # CMake
    rf"--timeout[=\s]+{NUMBER}",  # lit, ctest, executables
    rf"(?:^|[\s;&|(])timeout\s+(?:-\S+\s+(?:[A-Z]+\s+)?)*{NUMBER}",  # shell
    rf"\b(?:ulimit\s+-t|RLIMIT_CPU,)\s*\(?{NUMBER}",
    rf"\b[A-Z_]*(?:LIMIT|TIMEOUT|DEADLINE)(?:_S|_SECONDS)?\s*=\s*{NUMBER}\s*(?:#|$)",
    rf"\b[A-Z_]+\s*=\s*{NUMBER}\s*#\s*seconds",
    rf"\bk\w*(?:Timeout|Deadline|Seconds)\s*=\s*{NUMBER}\s*;",
)
CHRONO = re.compile(
    rf"\b(?:wait_for|wait_until|try_lock_for|try_acquire_for)\s*\([^;]*?(\w+)\s*[({{]\s*{NUMBER}"
    rf"|\bchrono::(\w+)\s+k\w+\s*[({{]\s*{NUMBER}"
)
RULES = {
    "sleep": re.compile(
        r"\b(?:sleep_for|sleep_until|usleep|nanosleep|time\.sleep|::sleep)\s*\("
        r"|(?:^|[\s;&|(\"'])sleep\s+\d"
    ),
    "clock": re.compile(
        r"\b(?:steady_clock|system_clock|high_resolution_clock|clock_gettime|gettimeofday)\b"
        r"|\btime\.(?:time|monotonic|perf_counter|process_time)(?:_ns)?\s*\("
    ),
}

BUNDLE = "test/Device/bundle/"
MEASURES = "a program that measures, and no test"
ON_A_GPU = "of a run on a GPU; tests multiply it by their patience"
POLLS = "looks again after a pause whether what it waits for has happened"
MEANT = {
    ("test/Device/Bench/Runtime.cpp", "clock"): (1, MEASURES),
    ("test/Runtime/files/FileBenchMain.cpp", "clock"): (1, MEASURES),
    ("test/Runtime/kernels/UpdateBenchMain.cpp", "clock"): (1, MEASURES),
    (BUNDLE + "report.py", "clock"): (4, MEASURES),
    (BUNDLE + "commands.py", "clock"): (2, MEASURES),
    (BUNDLE + "run", "clock"): (1, MEASURES),
    (BUNDLE + "faults.py", "sleep"): (1, POLLS),
    (BUNDLE + "faults.py", "limit"): (2, ON_A_GPU),
    (BUNDLE + "peers.py", "limit"): (1, ON_A_GPU),
    (BUNDLE + "ratios.py", "limit"): (1, ON_A_GPU),
    ("test/Device/SimulatedDevice.cpp", "clock"): (2, "gives events a time; no test reads it"),
    ("test/Integration/file_faults.py", "sleep"): (1, POLLS),
    ("test/Integration/file_faults.py", "limit"): (1, POLLS),
    ("test/Integration/train_injected.py", "limit"): (
        1,
        "that of ranks that wait for one that never comes; longer ones follow on slow machines",
    ),
    ("test/Runtime/communicator/CommunicatorFailureTest.cpp", "sleep"): (
        4,
        "one looks again; the others make it likely that a rank is in the middle of an "
        "operation, which passes anywhere else, too",
    ),
    ("test/Runtime/communicator/CommunicatorFaults.cpp", "sleep"): (
        2,
        "one looks again, one is a hang",
    ),
    ("test/Runtime/communicator/CommunicatorFaults.cpp", "limit"): (
        1,
        "that of ranks that wait for one that never comes, or not before they have given up",
    ),
    ("test/Runtime/trainer/TrainerProcessTest.cpp", "sleep"): (1, POLLS),
    ("test/Runtime/trainer/TrainerTest.cpp", "sleep"): (1, POLLS),
}


def short_limit(line):
    """The seconds of a limit that is too short, or None."""
    found = [float(match[1]) for rule in LIMITS for match in re.finditer(rule, line)]
    for match in CHRONO.finditer(line):
        unit, number = (match[1], match[2]) if match[1] else (match[3], match[4])
        found.append(UNITS.get(unit, 1) * float(number))
    # 0 is none at all.
    return min((seconds for seconds in found if 0 < seconds < LEAST_LIMIT), default=None)


def findings(text):
    """(number of the line, rule, what is wrong) of each."""
    for number, line in enumerate(text.splitlines(), 1):
        seconds = short_limit(line)
        if seconds is not None:
            yield number, "limit", f"a limit of {seconds:g} s, wanted {LEAST_LIMIT} s or more"
        for rule, pattern in RULES.items():
            if pattern.search(line):
                yield number, rule, f"a {rule}: wait for an event, and measure nothing"


def check(root, meant):
    """What is wrong, one line each."""
    done = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--", *FOLDERS],
        capture_output=True,
        text=True,
        check=True,
    )
    counts = {}
    for name in sorted(filter(None, done.stdout.split("\0"))):
        try:
            text = (root / name).read_text(encoding="utf-8")
        except (FileNotFoundError, UnicodeDecodeError, IsADirectoryError):
            continue  # deleted since, or a file of data
        for number, rule, problem in findings(text):
            counts.setdefault((name, rule), []).append(f"{name}:{number}: {problem}")
    for place, problems in counts.items():
        wanted, _ = meant.get(place, (0, ""))
        if len(problems) != wanted:
            yield from problems
            if wanted:
                yield f"{place[0]}: {len(problems)} lines of '{place[1]}', and MEANT has {wanted}"
    for name, rule in meant.keys() - counts.keys():
        if (root / name).exists():
            yield f"{name}: has no '{rule}' any more: take it out of MEANT"


def main(root):
    problems = list(check(pathlib.Path(root), MEANT))
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
