"""What docs/FineTuning.md shows is what its commands print."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

from training import tool

ROOT = pathlib.Path(__file__).parents[3]


def commands(folder: pathlib.Path) -> None:
    """The package's commands, as an installation makes them, and `python`."""
    folder.mkdir()
    project = (ROOT / "tools/python/pyproject.toml").read_text()
    for name, module, function in re.findall(r'^(zero-[\w-]+) = "([\w.]+):(\w+)"$', project, re.M):
        text = (
            f"#!{sys.executable}\nimport sys\nsys.path.append({str(ROOT / 'tools/python')!r})\n"
            f"from {module} import {function}\n"
        )
        (folder / name).write_text(text + f"sys.exit({function}())\n")
        (folder / name).chmod(0o755)
    (folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "python").chmod(0o755)


def test_fine_tuning(tmp_path):
    commands(tmp_path / "bin")
    (tmp_path / "work").mkdir()
    tools = pathlib.Path(tool("zero-compile")).parent
    environment = dict(
        os.environ,
        PATH=f"{tmp_path}/bin:{tools}:{os.environ['PATH']}",
        ZERO_BIN=str(tools),
        PYTHONPATH=str(ROOT / "tools/python"),
        OMP_NUM_THREADS="1",
        HF_HUB_OFFLINE="1",
    )
    runner = ROOT / "test/Integration/tutorial.py"
    page = ROOT / "docs/FineTuning.md"
    done = subprocess.run(
        [sys.executable, str(runner), str(page), str(tmp_path / "work")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "13 commands print what" in done.stdout
