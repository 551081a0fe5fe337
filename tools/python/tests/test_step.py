"""`zero.compile` and the step that it returns, beside the executable and PyTorch."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest
import torch
from models import MODELS
from safetensors.torch import load_file, save_file
from torch._subclasses.fake_tensor import FakeTensorMode
from training import run, tool

import zero

MODELS_FOLDER = pathlib.Path(__file__).parents[3] / "test/Models"
ADAM = {"lr": 1e-3, "betas": [0.9, 0.999], "eps": 1e-6, "weight_decay": 0.0}
CONFIG = {"optimizer": {"type": "AdamW", "params": ADAM}, "gradient_clipping": 1.0}


def mlp_batch(samples: int = 4) -> dict:
    random = numpy.random.default_rng(3)
    return {
        "x": random.standard_normal((samples, 3), dtype=numpy.float32),
        "y": random.standard_normal((samples, 1), dtype=numpy.float32),
    }


def compile_mlp(**settings) -> zero.Step:
    settings = {"ranks": 2, "stage": 3, "threads": 1, **settings}
    return zero.compile(MODELS_FOLDER / "tiny-mlp.mlir", **settings)


@pytest.fixture(scope="module")
def mlp():
    with compile_mlp() as step:
        yield step


def llama(micro_batch: int = 2):
    torch.manual_seed(8)
    module, batch = MODELS["llama"]()
    ids = torch.randint(1, 128, (8, batch["input_ids"].shape[1]))
    data = {"input_ids": ids, "labels": ids.clone()}
    return module.eval(), {name: value[:micro_batch] for name, value in data.items()}, data


@pytest.mark.parametrize(("ranks", "precision"), [(1, "f32"), (2, "f32"), (2, "bf16")])
def test_predicts(ranks, precision):
    """The logits of all samples, in their order, are PyTorch's."""
    module, example, data = llama()
    with torch.no_grad():
        wanted = module(**data).logits.numpy()
    config = {"bf16": {"enabled": True}} if precision == "bf16" else {}
    with zero.compile(
        module,
        example,
        config=config,
        ranks=ranks,
        stage=3 if ranks > 1 else 0,
        threads=1,
        outputs=["logits"],
    ) as step:
        assert list(step.outputs) == ["loss", "logits"]
        found = step.predict(data)
        loss = step.predict(data, ["loss"])["loss"]
        assert list(found) == ["logits"] and found["logits"].dtype == numpy.float32
        numpy.testing.assert_allclose(loss.mean(), step.evaluate(data), rtol=1e-6)
        assert loss.shape == (4,)
        with pytest.raises(zero.ArgumentError, match="no output 'logit'.*loss, logits"):
            step.predict(data, ["logit"])
    tolerance = 1e-5 if precision == "f32" else 0.05
    assert numpy.abs(found["logits"] - wanted).max() <= tolerance * numpy.abs(wanted).max()


def padded(samples: int) -> dict:
    """Those samples of the data, and four of nothing behind."""
    return {
        name: numpy.pad(value, ((0, 8 - samples), (0, 0)))
        for name, value in mlp_batch(samples).items()
    }


def test_predicts_without_labels():
    """What an output does not depend on need not be there, and all else must."""
    module, example, data = llama()
    with torch.no_grad():
        wanted = module(**data).logits.numpy()
    with zero.compile(module, example, ranks=1, threads=1, outputs=["logits"]) as step:
        found = step.predict({"input_ids": data["input_ids"][:5]})["logits"]
        with pytest.raises(zero.ArgumentError, match="no array 'input_ids'"):
            step.predict({"labels": data["labels"]})
        with pytest.raises(zero.ArgumentError, match="no array 'labels'"):
            step.predict({"input_ids": data["input_ids"]}, ["loss"])
    assert found.shape == wanted[:5].shape
    assert numpy.abs(found - wanted[:5]).max() <= 1e-5 * numpy.abs(wanted).max()


def test_predicts_nothing_of_no_samples(mlp):
    found = mlp.predict(mlp_batch(0))
    assert {name: value.shape for name, value in found.items()} == {"prediction": (0, 1)}
    with pytest.raises(zero.ArgumentError, match="the batch is empty"):
        mlp.predict({})
    nothing = mlp_batch(0)
    with pytest.raises(zero.ArgumentError, match="the batch has no samples, and 'y' has some"):
        mlp.predict({**nothing, "y": mlp_batch(4)["y"]})
    for other in (numpy.zeros((0, 2), "float32"), numpy.zeros((0, 1), object)):
        with pytest.raises(zero.ArgumentError, match="'y'"):
            mlp.predict({**nothing, "y": other})


def test_predicts_what_is_named(mlp):
    batch = mlp_batch(8)
    wanted = batch["x"] @ mlp.parameter("fc1.w")
    numpy.testing.assert_allclose(mlp.predict(batch)["prediction"], wanted, rtol=1e-5, atol=1e-6)
    parts = [{name: value[i : i + 4] for name, value in batch.items()} for i in (0, 4)]
    numpy.testing.assert_array_equal(
        mlp.predict(parts)["prediction"], mlp.predict(batch)["prediction"]
    )
    for sizes in ([3, 2], [1, 1, 1, 5], [4, 2], [5, 3]):
        ends = numpy.cumsum(sizes)
        parts = [
            {name: value[end - size : end] for name, value in batch.items()}
            for size, end in zip(sizes, ends)
        ]
        tensors = [{n: torch.from_numpy(v) for n, v in part.items()} for part in parts]
        for given in (parts, tensors, [parts[0], *tensors[1:]]):
            found = mlp.predict(given)["prediction"]
            numpy.testing.assert_allclose(found, wanted[: ends[-1]], rtol=1e-5, atol=1e-6)
    for samples in (1, 5, 6):
        found = mlp.predict(mlp_batch(samples))["prediction"]
        assert found.shape == (samples, 1)
        numpy.testing.assert_array_equal(
            found, mlp.predict(padded(samples))["prediction"][:samples]
        )
    with pytest.raises(zero.ArgumentError, match="'loss' has one value.*a multiple of 4"):
        mlp.predict(mlp_batch(6), ["loss"])
    with pytest.raises(zero.ArgumentError, match="no parameter 'fc1.ww'; the nearest is 'fc1.w'"):
        mlp.parameter("fc1.ww")
    with pytest.raises(zero.Error, match="names its outputs itself"):
        compile_mlp(outputs=["prediction"])


def test_a_learning_rate_of_the_caller():
    """It holds for all groups until it is taken back, and no update is without one."""
    config = {"optimizer": {"type": "SGD", "params": {"lr": 0.25}}, "gradient_clipping": 0.0}
    with compile_mlp(config=config) as step:

        def moved() -> tuple[numpy.ndarray, float]:
            before = step.parameter("fc1.w")
            step.backward(mlp_batch())
            gradient = step.gradient("fc1.w")
            with pytest.raises(zero.StateError):
                step.set_learning_rate(1.0)
            step.update()
            return before - step.parameter("fc1.w"), gradient

        for rate, wanted in ((None, 0.25), (0.5, 0.5), (0.5, 0.5), (0.0, 0.0), (None, 0.25)):
            step.set_learning_rate(rate)
            change, gradient = moved()
            numpy.testing.assert_allclose(change, wanted * gradient, rtol=1e-5, atol=1e-7)
            assert step.last.learning_rate == wanted
        step.set_learning_rate(torch.tensor(0.5))
        assert moved() and step.last.learning_rate == 0.5
        for rate in (-1.0, float("nan"), float("inf"), 1e300, True, torch.tensor([0.5])):
            with pytest.raises(zero.ArgumentError, match="the learning rate is"):
                step.set_learning_rate(rate)


@pytest.mark.parametrize(("ranks", "stage"), [(1, 0), (2, 3)])
def test_equals_the_executable(ranks, stage, tmp_path):
    """The same losses, and bitwise equal weights after five updates."""
    module, example, data = llama()
    model = zero.export(module, example)
    model.save(tmp_path / "model.mlir", tmp_path / "before.safetensors")
    save_file(data, tmp_path / "data.safetensors")
    settings = {**CONFIG, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    flags = ["--config", "config.json", f"--ranks={ranks}", f"--stage={stage}"]
    run([tool("zero-compile"), "model.mlir", *flags, "--deterministic", "-o", "train"], tmp_path)
    words = ["--data", "data.safetensors", "--weights", "before.safetensors", "--seed", "3"]
    words += ["--validation-fraction", "0", "--threads", "1", "--steps", "5"]
    words += ["--save-weights", "after.safetensors", "--metrics", "metrics.jsonl"]
    run(["./train", *words], tmp_path)
    wanted = [json.loads(line)["loss"] for line in (tmp_path / "metrics.jsonl").open()]
    after = load_file(tmp_path / "after.safetensors")

    with zero.compile(
        module,
        example,
        config=settings,
        ranks=ranks,
        stage=stage,
        deterministic=True,
        threads=1,
        seed=3,
    ) as step:
        assert (step.ranks, step.stage, step.accumulation) == (ranks, stage, 2)
        found = step.train(data, steps=5, progress=False)
        assert found == wanted
        state = step.state_dict()
        assert set(state) == set(after)
        assert all(numpy.array_equal(state[name], after[name].numpy()) for name in state)
        step.save_weights(tmp_path / "found.safetensors")
    assert (tmp_path / "found.safetensors").read_bytes() == (
        tmp_path / "after.safetensors"
    ).read_bytes()


def test_equals_pytorch():
    """Twenty updates on batches of PyTorch's tensors, and the module has the weights."""
    module, example, data = llama(4)
    with zero.compile(module, example, config=CONFIG, ranks=2, stage=2) as step:
        found = [step(data) for _ in range(20)]
        optimizer = torch.optim.AdamW(module.parameters(), **{**ADAM, "betas": (0.9, 0.999)})
        wanted = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = module(**data).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
            wanted.append(loss.item())
        assert found == pytest.approx(wanted, rel=1e-5)
        assert wanted[-1] < wanted[0] - 0.5
        other, _, _ = llama()
        step.load_into(other)
        for name, value in module.named_parameters():
            numpy.testing.assert_allclose(
                other.get_parameter(name).detach(), value.detach(), rtol=1e-3, atol=1e-4
            )
        assert step.evaluate(data) == pytest.approx(other(**data).loss.item(), rel=1e-5)


def test_describes_itself(mlp):
    assert list(mlp.inputs) == ["x", "y"]
    assert mlp.inputs["x"].shape == (2, 3) and mlp.inputs["x"].dtype == "float32"
    tensor = mlp.parameters["fc1.w"]
    assert tensor.trainable and tensor.states == ("exp_avg", "exp_avg_sq")
    assert (mlp.ranks, mlp.micro_batch, mlp.update_samples) == (2, 2, 4)


class OnlyInterface:
    """Memory of another library, which NumPy sees through the array interface."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__
        self.array = array


class OnlyDlpack:
    """Memory of another library, which NumPy sees through DLPack."""

    def __init__(self, array):
        self.__dlpack__ = array.__dlpack__
        self.__dlpack_device__ = array.__dlpack_device__


@pytest.mark.parametrize(
    "convert",
    [
        torch.from_numpy,
        OnlyInterface,
        OnlyDlpack,
        lambda array: torch.from_numpy(array).requires_grad_(),
        lambda array: numpy.asfortranarray(array),
        lambda array: array.tolist(),
    ],
    ids=["torch", "interface", "dlpack", "gradient", "fortran", "list"],
)
def test_arrays_of_any_library(convert, mlp):
    batch = mlp_batch()
    wanted = mlp.evaluate(batch)
    assert mlp.evaluate({name: convert(value) for name, value in batch.items()}) == wanted


@pytest.mark.parametrize("kind", ["float64", "float16", "bfloat16", ">f8"])
def test_floats_of_other_widths(kind, mlp):
    """As the runtime converts those of files; infinities and NaN stay what they are."""
    exact = {name: numpy.round(value * 4) / 4 for name, value in mlp_batch().items()}
    wanted = mlp.evaluate({name: value.astype("f4") for name, value in exact.items()})
    tensors = {name: torch.from_numpy(value) for name, value in exact.items()}
    if kind == "bfloat16":
        found = mlp.evaluate({name: value.bfloat16() for name, value in tensors.items()})
    else:
        found = mlp.evaluate({name: value.astype(kind) for name, value in exact.items()})
        if kind != ">f8":
            same = {name: value.to(getattr(torch, kind)) for name, value in tensors.items()}
            assert mlp.evaluate(same) == wanted
    assert found == wanted
    infinite = {**exact, "x": numpy.full_like(exact["x"], numpy.inf, dtype="f8")}
    assert not numpy.isfinite(mlp.evaluate(infinite))


def test_masks_are_not_lost():
    """Neither where samples are drawn, nor in parameters."""
    with compile_mlp() as step:
        batch = mlp_batch()
        masked = numpy.ma.masked_array(batch["x"], mask=batch["x"] > 0)
        with pytest.raises(zero.ArgumentError, match="'x' is a masked array"):
            step.train({**batch, "x": masked}, steps=1, progress=False)
        weight = numpy.ma.masked_array(step.parameter("fc1.w"), mask=True)
        with pytest.raises(zero.ArgumentError, match="'fc1.w' is a masked array"):
            step.set_parameter("fc1.w", weight)


def test_dense_arrays_are_not_copied():
    from zero.arrays import View

    array = mlp_batch()["x"]
    tensor = torch.from_numpy(array)
    addresses = {View("x", value).address for value in (array, tensor, OnlyInterface(array))}
    assert addresses == {array.ctypes.data}


def test_micro_batches_may_come_one_by_one(mlp):
    batch = mlp_batch()
    parts = [{name: value[i : i + 2] for name, value in batch.items()} for i in (0, 2)]
    assert mlp.evaluate(parts) == mlp.evaluate(batch)


class OnlyErrors:
    def __array__(self, *words, **settings):
        raise KeyError("no array")


class Elsewhere(torch.Tensor):
    """Says that it is on a GPU."""

    device = torch.device("cuda:0")
    __module__ = "torch"


FREED = torch.zeros(4, 3)
FREED.untyped_storage().resize_(4)
with FakeTensorMode():
    FAKE = torch.zeros(4, 3)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"z": numpy.zeros(1)}, "no such input; its inputs are 'x', 'y'"),
        ({"x": torch.zeros(4, 3, device="meta")}, "device meta that has no values"),
        ({"x": FAKE}, "a FakeTensor on the device cpu that has no values"),
        ({"x": FREED}, "a Tensor on the device cpu that has no values"),
        ({"x": torch.zeros(4, 3).as_subclass(Elsewhere)}, "device cuda:0, wanted the CPU: call"),
        ({"x": torch.nested.nested_tensor([torch.zeros(3)])}, "'x' is a nested tensor"),
        ({"x": numpy.full((4, 3), 1e300)}, "float64 has a finite value that is too large"),
        ({"x": torch.full((4, 3), -1e300, dtype=torch.float64)}, "too large for float32"),
        ({"x": numpy.zeros((4, 3), "i4")}, "elements of type i32, wanted f32"),
        ({1: numpy.zeros((4, 3), "f4")}, "has the key 1, wanted the name of an input"),
        ({b"x": numpy.zeros((4, 3), "f4")}, "has the key b'x'"),
        ({"a\0": numpy.zeros((4, 3), "f4")}, "wanted the name of an input"),
        ({"\ud800": numpy.zeros((4, 3), "f4")}, "wanted the name of an input"),
        ({"x": numpy.ma.masked_array(numpy.zeros((4, 3), "f4"), mask=True)}, "a masked array"),
        ({"x": [numpy.ma.masked_array(numpy.zeros(3, "f4"), mask=True)] * 4}, "a masked array"),
        ({"x": torch.zeros(4, 3).to_sparse()}, "layout torch.sparse_coo, wanted a dense one"),
        ({"x": [[1.0], [1.0, 2.0]]}, "the array 'x' cannot be read"),
        ({"x": object()}, "the array 'x' has objects of Python, wanted elements of"),
        ({"x": numpy.array(["a"])}, "the array 'x' has text, wanted elements of"),
        ({"x": numpy.zeros(4, "M8[s]")}, "elements of type datetime64"),
        ({"x": OnlyErrors()}, "'x' cannot be read: KeyError: 'no array'"),
        ({"x": None}, "the array 'x' is None, wanted numbers: give an array"),
        ({"x": b"text"}, "the array 'x' is the text b'text', wanted numbers"),
        ({"x": numpy.zeros((4, 2), "f4")}, r"shape \[4, 2\], wanted samples of shape \[3\]"),
        ({"x": numpy.zeros((3, 3), "f4")}, "3 samples, wanted whole micro-batches of 2"),
        ({"x": numpy.zeros((2, 3), "f4")}, "inputs disagree"),
        ({"x": numpy.zeros((4, 3), "c8")}, "elements of type complex64"),
    ],
)
def test_refused_batches(change, message, mlp):
    with pytest.raises(zero.ArgumentError, match=message):
        mlp({**mlp_batch(), **change})
    with pytest.raises(ValueError):
        mlp({**mlp_batch(), **change})
    assert mlp.last is None  # nothing was done


@pytest.mark.parametrize("batch", [5, torch.tensor(0.0), object(), [5], "x"])
def test_a_batch_that_is_no_mapping(batch, mlp):
    kind = type(batch[0] if isinstance(batch, list) else batch).__name__
    for use in (mlp, mlp.backward, mlp.evaluate):
        with pytest.raises(zero.ArgumentError, match=f"to arrays; found {kind}"):
            use(batch)


def test_ids_are_checked():
    with zero.compile(MODELS_FOLDER / "tiny-gpt.mlir", threads=1) as step:
        shape = (step.update_samples, *step.inputs["tokens"].shape[1:])
        ids = numpy.zeros(shape, "i8")
        batch = {"tokens": ids, "targets": ids}
        assert step(batch) > 0
        with pytest.raises(zero.ArgumentError, match="has id 999999 for the input 'tokens'"):
            step({**batch, "tokens": ids + 999999})
        with pytest.raises(zero.ArgumentError, match="does not fit i32|has id"):
            step({**batch, "targets": ids + 2**40})
        assert step(batch) > 0


def test_several_processes_are_refused(monkeypatch, tmp_path):
    """Each would train the whole model by itself."""
    compile_mlp(output=tmp_path / "step.so").close()
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(zero.StateError, match="process 0 of 2 by torchrun.*mpirun -n 2"):
        zero.load(tmp_path / "step.so")
    monkeypatch.setenv("WORLD_SIZE", "1")
    zero.load(tmp_path / "step.so").close()


def test_a_run_that_has_failed_says_why(tmp_path):
    ids = numpy.full(4000, 60000, "<u2")
    (tmp_path / "data.bin").write_bytes(ids.tobytes())
    with zero.compile(MODELS_FOLDER / "tiny-gpt.mlir", ranks=2, stage=2, threads=1) as step:
        with pytest.raises(zero.Error, match="id 60000"):
            step.train(tmp_path / "data.bin", steps=1, progress=False)
        with pytest.raises(zero.StateError, match="has failed and cannot go on: .*id 60000"):
            step.parameter("wte.weight")


def test_parameters_are_set():
    with compile_mlp() as step:
        state = step.state_dict()
        first = step(mlp_batch())
        step.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()})
        assert step.evaluate(mlp_batch()) == pytest.approx(first, rel=1e-6)
        with pytest.raises(zero.ArgumentError, match="missing: fc1.w; unknown: other"):
            step.load_state_dict({"other": state["fc1.w"]})
        with pytest.raises(zero.ArgumentError, match=r"has shape \[3, 1\]; found \[3\]"):
            step.set_parameter("fc1.w", numpy.zeros(3))
        with pytest.raises(zero.ArgumentError, match="no parameter 'fc9.w'"):
            step.parameter("fc9.w")


def test_states_in_files(tmp_path):
    """The folder may be another one than the compiled one, and stays empty."""
    offload = {"device": "nvme", "nvme_path": "/nonexistent", "pipeline": True}
    config = {
        "zero_optimization": {"offload_optimizer": offload},
        "zero": {"offload_nvme_min_bytes": 0, "deterministic": True},
    }
    library = tmp_path / "step.so"
    with pytest.raises(zero.Error, match="'/nonexistent' for states in files"):
        compile_mlp(config=config, output=library)
    plain = compile_mlp(deterministic=True)
    with plain, zero.load(library, threads=1, nvme_path=tmp_path) as step:
        for _ in range(3):
            assert step(mlp_batch()) == plain(mlp_batch())
    assert [path.name for path in tmp_path.iterdir()] == ["step.so"]
    with pytest.raises(zero.ArgumentError, match="keeps no states in files"):
        compile_mlp(nvme_path=tmp_path)


def test_errors(tmp_path):
    with pytest.raises(
        zero.CompileError, match="the option stage: found 7, wanted an integer from 0 to 3"
    ):
        compile_mlp(stage=7)
    with pytest.raises(zero.Error, match="no library of zero-compile --emit=shared"):
        zero.load(__file__)
    with pytest.raises(zero.Error, match="No such file"):
        compile_mlp(weights=tmp_path / "none.safetensors")
    with compile_mlp() as step:
        with pytest.raises(zero.Error, match="No such file"):
            step.save_weights(tmp_path / "none" / "w.safetensors")
        assert step(mlp_batch()) > 0
    with pytest.raises(zero.StateError, match="this run is closed"):
        step(mlp_batch())


def test_a_library_is_kept_and_loaded(tmp_path):
    with compile_mlp(output=tmp_path / "step.so", seed=5) as step:
        losses = step.train([mlp_batch(), mlp_batch()], steps=3, progress=False)
    with zero.load(tmp_path / "step.so", seed=5, threads=1) as one:
        with zero.load(tmp_path / "step.so", seed=5, threads=1) as two:
            batches = [mlp_batch()] * 3
            found = [(one(batch), two(batch)) for batch in batches]
    assert found == [(loss, loss) for loss in losses]


def test_a_library_that_was_replaced_is_loaded(tmp_path):
    for stage in (0, 3):
        with compile_mlp(stage=stage, output=tmp_path / "step.so") as step:
            assert step.stage == stage


def test_progress_line(capsys):
    with compile_mlp() as step:
        step.train([mlp_batch()], steps=2)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and lines[1].startswith("step 2/2 loss ")
    assert lines[1].endswith(" samples/s")


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy, zero
step = zero.load(sys.argv[1], threads=1)
ones = {"x": numpy.ones((4, 3), "f4"), "y": numpy.ones((4, 1), "f4")}
print(step(ones), step.state_dict()["fc1.w"].shape)
"""

# A job that a shell runs in the background ignores SIGINT, and so do its children.
INTERRUPTED = """
import itertools, os, signal, sys, threading
import numpy, zero
signal.signal(signal.SIGINT, signal.default_int_handler)
step = zero.load(sys.argv[1], threads=1)
ones = {"x": numpy.ones((4, 3), "f4"), "y": numpy.ones((4, 1), "f4")}

def batches():
    for number in itertools.count():
        if number == 20:
            os.kill(os.getpid(), signal.SIGINT)
        yield ones

try:
    step.train(batches(), steps=10**9, progress=False)
except KeyboardInterrupt:
    before = step.last.number
    step(ones)
    print("interrupted", step.last.number == before + 1)
"""

FORKED = """
import os, sys
import numpy, zero
step = zero.load(sys.argv[1], threads=1)
if os.fork() == 0:
    try:
        step.parameter("fc1.w")
    except zero.StateError as error:
        print(error, flush=True)
    del step
    os._exit(0)
os.wait()
print(step.parameter("fc1.w").shape)
"""


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        (WITHOUT_TORCH, "(3, 1)"),
        (INTERRUPTED, "interrupted True"),
        (FORKED, "this one was forked from it"),
    ],
    ids=["without torch", "interrupted", "forked"],
)
def test_in_a_process_of_its_own(script, wanted, tmp_path):
    compile_mlp(output=tmp_path / "step.so").close()
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "step.so")],
        cwd=pathlib.Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert wanted in done.stdout


@pytest.mark.parametrize(
    ("imports", "given", "taken"),
    [
        ("zero", {}, "300"),
        ("zero, torch", {}, "300"),
        ("torch, zero", {}, "300000"),  # libgomp's own: PyTorch has loaded it
        ("zero", {"GOMP_SPINCOUNT": "7"}, "7"),
        ("zero", {"OMP_WAIT_POLICY": "PASSIVE"}, "0"),
    ],
)
def test_threads_spin_briefly(imports, given, taken, tmp_path):
    library = tmp_path / "mlp.so"
    compile_mlp(output=library).close()
    environment = dict(os.environ, OMP_DISPLAY_ENV="verbose")
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        environment.pop(name, None)
    code = f"import {imports}; zero.load({str(library)!r}).close()"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, **given},
        capture_output=True,
        text=True,
        check=True,
    )
    # What libgomp itself says that it has read.
    assert f"GOMP_SPINCOUNT = '{taken}'" in ran.stderr
