"""What a run shares with its process: threads, libraries, limits, a working directory."""

from __future__ import annotations

import os
import pathlib
import signal
import stat
import subprocess
import sys

import numpy
import pytest
import torch
from torch import nn

import zero
from zero.locks import OneAtATime

MLP = pathlib.Path(__file__).parents[3] / "test/Models/tiny-mlp.mlir"
ONES = "{'x': numpy.ones((2, 3), 'f4'), 'y': numpy.ones((2, 1), 'f4')}"


def ones(samples: int = 2) -> dict:
    return {"x": numpy.ones((samples, 3), "f4"), "y": numpy.ones((samples, 1), "f4")}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("library") / "step.so"
    zero.compile(MLP, threads=1, output=path).close()
    return path


def run_script(script: str, *words: object, **settings) -> str:
    environment = dict(os.environ, PYTHONPATH=str(pathlib.Path(__file__).parents[1]))
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
        **settings,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


HELD = """
import gc, os, sys, threading
import zero
step = zero.load(sys.argv[1], threads=1)
held, done = threading.Event(), threading.Event()
def hold():
    with step._lock:
        held.set()
        done.wait()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
if os.fork() == 0:
    for use in (lambda: step.updates, step.state_dict, lambda: step.load_state_dict({}, False)):
        try:
            use()
        except zero.StateError as error:
            print(error, flush=True)
    step.close()
    del step, use
    gc.collect()
    print("ended", flush=True)
    os._exit(0)
os.wait()
done.set()
thread.join()
print(step.updates)
"""


def test_a_child_does_not_wait_for_a_thread_of_its_parent(library):
    said = run_script(HELD, library).splitlines()
    assert said[-2:] == ["ended", "0"]
    assert len(said) == 5 and len(set(said[:3])) == 1
    assert "the run belongs to the process that made it, and this one was forked" in said[0]


IMPORTING = """
import os, threading
import torch, zero
held, done = threading.Event(), threading.Event()
class Net(torch.nn.Linear):
    def forward(self, x):
        if threading.current_thread() is not threading.main_thread():
            held.set()
            done.wait()
        return super().forward(x).sum()
net, batch = Net(2, 2), {"x": torch.ones(2, 2)}
thread = threading.Thread(target=zero.export, args=(net, batch))
thread.start()
held.wait()
if os.fork() == 0:
    try:
        zero.export(net, batch)
    except zero.StateError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
done.set()
thread.join()
if os.fork() == 0:
    print(zero.export(net, batch).inputs, flush=True)
    os._exit(0)
os.wait()
"""


def test_a_child_does_not_wait_for_an_import_of_its_parent():
    said = run_script(IMPORTING).splitlines()
    assert "was forked while another thread imported a model" in said[0]
    assert said[1:] == ["['x']"]


def test_a_thread_that_forks_has_its_own_locks():
    lock = OneAtATime("tried")
    with lock:
        OneAtATime.after_fork()
        with lock:
            pass


GONE = f"""
import os, sys, tempfile
import numpy, zero
from zero.importer.places import shortened
os.chdir(tempfile.mkdtemp())
os.rmdir(os.getcwd())
print(zero.load(sys.argv[1], threads=1)({ONES}) > 0, shortened("/model.py"))
try:
    zero.load("step.so")
except zero.Error as error:
    print(error)
"""


def test_a_working_directory_that_was_deleted(library):
    first, second = run_script(GONE, library).splitlines()
    assert first == "True /model.py"
    assert second.startswith("'step.so' is relative to the working directory, which was deleted")


LIMITED = """
import resource, sys
import zero
step = zero.load(sys.argv[1], threads=1)
files = [open("/dev/null") for _ in range(8)]
resource.setrlimit(resource.RLIMIT_NOFILE, (max(file.fileno() for file in files) + 1,) * 2)
for use in (lambda: zero.compile(sys.argv[2]), lambda: zero.load(sys.argv[1])):
    try:
        use()
    except zero.Error as error:
        print(error)
"""


def test_a_limit_on_open_files(library):
    said = run_script(LIMITED, library, MLP).splitlines()
    assert len(said) == 2
    assert said[0].startswith("the model cannot be compiled: ")
    assert all("raise the limit on open files (ulimit -n)" in line for line in said), said


def test_progress_without_standard_error(library, monkeypatch):
    with zero.load(library, threads=1) as step:
        monkeypatch.setattr(sys, "stderr", None)
        assert len(step.train([ones()], 2)) == 2


class Untraced(nn.Module):
    def forward(self, x):
        raise AssertionError("forward is traced")


def test_unknown_options_are_refused_before_the_import():
    with pytest.raises(zero.ArgumentError, match="no option 'optimiser'; the nearest is 'optimizer'.*said by the configuration"):
        zero.compile(Untraced(), {"x": torch.ones(2)}, optimiser=1)
    with pytest.raises(zero.ArgumentError, match="no option 'thread'; the nearest is 'threads'"):
        zero.compile(Untraced(), {"x": torch.ones(2)}, thread=1)


def test_a_compiler_that_writes_no_library(tmp_path, monkeypatch):
    fake = tmp_path / "zero-compile"
    fake.write_text("#!/bin/sh\necho the linker is gone >&2\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("ZERO_BIN", str(tmp_path))
    old = tmp_path / "old.so"
    old.write_bytes(b"of another model")
    for output in (None, old):
        with pytest.raises(zero.CompileError, match="wrote no library '.*'\nthe linker is gone"):
            zero.compile(MLP, output=output)
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pytest.raises(zero.CompileError, match="SIGCHLD is ignored"):
            zero.compile(MLP)
    finally:
        signal.signal(signal.SIGCHLD, before)
