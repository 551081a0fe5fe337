"""A wheel in an environment of its own: `zero.compile` without ZERO_BIN."""

import os
import pathlib
import subprocess
import sys

import numpy
import pytest

ROOT = pathlib.Path(__file__).parents[3]
TRAINS = """
import sys
import numpy
import zero

assert "installed" in zero.compiler.find_tool("zero-compile"), "not the wheel's"
step = zero.compile(sys.argv[1], ranks=2)
batch = {"x": numpy.ones((4, 3), "float32"), "y": numpy.ones((4, 1), "float32")}
losses = [step(batch) for _ in range(4)]
assert losses[-1] < losses[0], losses
"""


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_compiles_and_trains_by_itself(tmp_path):
    build = pathlib.Path(os.environ.get("ZERO_BIN", "")).parent
    if not (build / "CMakeCache.txt").exists():
        pytest.skip("ZERO_BIN is not the folder of a build, from which a wheel could be made")
    words = ("wheel", "--this-machine", "--build", build, "--out", tmp_path)
    run(ROOT / "tools" / "package", *words)
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    (wheel,) = tmp_path.glob("*.whl")
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel)
    # What the wheel depends on is taken from the environment of this test.
    (site,) = (tmp_path / "venv").glob("lib/python3.*/site-packages")
    (site / "numpy.pth").write_text(str(pathlib.Path(numpy.__file__).parents[1]))
    model = ROOT / "test" / "Models" / "tiny-mlp.mlir"
    environment = {key: value for key, value in os.environ.items() if key != "ZERO_BIN"}
    environment["PATH"] = "/usr/bin:/bin"
    run(python, "-c", TRAINS, model, cwd=tmp_path, env=environment)
