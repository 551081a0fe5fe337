"""What pages show is what their commands do, where that takes PyTorch."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch
from deepspeed_runs import needs_deepspeed
from training import tool

ROOT = pathlib.Path(__file__).parents[3]

# Stands for pip: what is asked for has to be there, the files of the project, what it names as
# extras, and modules.
PIP = """
import importlib.util
import pathlib
import re
import sys

root = pathlib.Path({root!r})
project = (root / "tools/python/pyproject.toml").read_text()
assert sys.argv[1] == "install", sys.argv
for word in sys.argv[2:]:
    name, extra = re.fullmatch(r"([^\\[<>=]+)(?:\\[(\\w+)\\])?(?:[<>=].*)?", word).groups()
    assert not extra or re.search(rf"^{{extra}} = \\[", project, re.M), word
    if name.endswith("zero_compiler-*.whl"):
        assert name == "build/packages/zero_compiler-*.whl", word
    elif "/" in name:
        assert (root / name).exists(), word
    elif name != "zero-compiler":
        assert importlib.util.find_spec(name), word
"""


def commands(folder: pathlib.Path) -> None:
    """The package's commands, as an installation makes them, `python` and `pip`."""
    folder.mkdir()
    project = (ROOT / "tools/python/pyproject.toml").read_text()
    for name, module, function in re.findall(r'^(zero-[\w-]+) = "([\w.]+):(\w+)"$', project, re.M):
        text = (
            f"#!{sys.executable}\nimport sys\nsys.path.append({str(ROOT / 'tools/python')!r})\n"
            f"from {module} import {function}\n"
        )
        (folder / name).write_text(text + f"sys.exit({function}())\n")
    (folder / "pip").write_text(f"#!{sys.executable}" + PIP.format(root=str(ROOT)))
    (folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for file in folder.iterdir():
        file.chmod(0o755)


def of_the_build(folder: pathlib.Path) -> dict:
    """The environment of commands that take the build's tools and the checkout's package."""
    commands(folder / "bin")
    tools = pathlib.Path(tool("zero-compile")).parent
    return dict(
        os.environ,
        PATH=f"{folder}/bin:{tools}:{os.environ['PATH']}",
        ZERO_BIN=str(tools),
        PYTHONPATH=str(ROOT / "tools/python"),
    )


def of_a_wheel(folder: pathlib.Path) -> dict:
    """The environment of commands that take what a wheel installs, which is in build/packages
    of the folder in which they run, and beside it the modules of this interpreter."""
    build = pathlib.Path(tool("zero-compile")).parents[1]
    if not (build / "CMakeCache.txt").exists():
        pytest.skip(f"{build} is not the folder of a build, from which a wheel could be made")
    words = ("wheel", "--this-machine", "--build", build, "--out", folder / "work/build/packages")
    subprocess.run([ROOT / "tools/package", *words], check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    (site,) = (folder / "venv").glob("lib/python3.*/site-packages")
    (site / "beside.pth").write_text(str(pathlib.Path(torch.__file__).parents[1]))
    # pip finds the modules there, and installs the wheel.
    pip = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1"}
    environment = dict(os.environ, PATH=f"{folder}/venv/bin:/usr/bin:/bin", **pip)
    for name in ("ZERO_BIN", "PYTHONPATH"):
        environment.pop(name, None)
    return environment


def run_page(page: str, folder: pathlib.Path, environment: dict, *options: str) -> str:
    """What tutorial.py prints of a page, all of whose commands have to do as it says."""
    (folder / "work").mkdir(exist_ok=True)
    runner = ROOT / "test/Integration/tutorial.py"
    done = subprocess.run(
        [sys.executable, str(runner), *options, str(ROOT / page), str(folder / "work")],
        env=dict(
            environment,
            ZERO_CACHE=str(folder / "cache"),
            OMP_NUM_THREADS="1",
            HF_HUB_OFFLINE="1",
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# All of a page, or what of it wants PyTorch where test/Pages has the rest.
@pytest.mark.parametrize(
    ("page", "what", "printed", "scripts"),
    [
        pytest.param("docs/Checkpoints.md", "--only", 0, 1, marks=needs_deepspeed),
        ("docs/Data.md", "--with", 0, 5),
        ("docs/FineTuning.md", "--with", 13, 1),
        ("docs/Planning.md", "--only", 0, 2),
        ("docs/PyTorch.md", "--with", 1, 5),
        ("docs/Python.md", "--with", 0, 9),
    ],
)
def test_page(page, what, printed, scripts, tmp_path):
    need = "DeepSpeed" if "Checkpoints" in page else "PyTorch"
    out = run_page(page, tmp_path, of_the_build(tmp_path), what, need)
    assert f"{printed} commands print what" in out or not printed, out
    assert f"{scripts} scripts of" in out or not scripts, out


def test_readme(tmp_path):
    out = run_page("README.md", tmp_path, of_a_wheel(tmp_path), "--with", "PyTorch")
    assert "2 scripts of" in out, out
