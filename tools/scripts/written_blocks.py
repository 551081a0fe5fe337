#!/usr/bin/env python3
"""Prints a page with what its commands print now: written_blocks.py PAGE

A block of a page is written by commands in a comment, and ends with another comment:

    <!-- Written by tools/generate-docs:
    COMMANDS
    -->
    what COMMANDS print
    <!-- End of what tools/generate-docs writes. -->

The blocks of a page run in bash, one after the other, in one folder, where there are only
the checkout's `test` and `tools`. Besides all programs there are

    show 'COMMANDS' [FILTER...]   a listing of COMMANDS, and one of what they print, through
                                  FILTER, such as `head -5`
    table 'COMMANDS' <<END        a listing of COMMANDS, of which the last is zero-plan's, and
                                  the table that tools/scripts/plan_table.py makes of them
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
END = "<!-- End of what tools/generate-docs writes. -->\n"
BLOCK = re.compile(
    r"^(?P<head><!-- Written by tools/generate-docs:(?P<commands>.*?)-->\n).*?"
    rf"(?P<end>^{re.escape(END)}|\Z)", re.M | re.S)
PRELUDE = r"""
listing() {  # its first line is for test/Integration/tutorial.py
  printf '<!-- not run: tools/generate-docs runs it -->\n\n'
  sed 's/^/    /' <<<"$1"
  echo
}
show() {
  local printed
  listing "$1"
  printed=$(bash -e -o pipefail -c "$1")
  shift
  printed=$("${@:-cat}" <<<"$printed")
  [ -n "$printed" ] || exit 1
  printf '```text\n%s\n```\n' "$printed"
}
table() {
  listing "$1"
  python3 tools/scripts/plan_table.py "$1"
}
"""


def run(commands, folder, place):
    """What the commands of the block at `place` print."""
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", PRELUDE + commands],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode or not done.stdout:
        sys.exit(f"{place}: the commands of the block end with status {done.returncode} and "
                 f"print {len(done.stdout)} bytes; wanted 0, and what is to stand here:"
                 f"\n{commands.strip()}\n{done.stderr}")
    return done.stdout


def write(page, path):
    """The text of the page, with each block as its commands write it."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("test", "tools"):
            pathlib.Path(folder, name).symlink_to(ROOT / name)

        def write_block(match):
            place = f"{path}, line {page.count(chr(10), 0, match.start()) + 1}"
            if not match["end"] or "<!-- Written by" in match[0][len(match["head"]):]:
                sys.exit(f"{place}: the block has no end; wanted '{END.strip()}' behind it")
            return match["head"] + run(match["commands"], folder, place) + match["end"]

        return BLOCK.sub(write_block, page)


if __name__ == "__main__":
    file = pathlib.Path(sys.argv[1])
    sys.stdout.write(write(file.read_text(encoding="utf-8"), file))
