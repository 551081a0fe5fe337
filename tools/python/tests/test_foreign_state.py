"""Checkpoints that DeepSpeed has written go on here."""

from __future__ import annotations

import warnings

import numpy
import pytest
import torch
from deepspeed_runs import needs_deepspeed, prepare, run_deepspeed
from models import MODELS

import zero
from zero.checkpoints import read_checkpoint, write_checkpoint

pytestmark = needs_deepspeed

SAVED, MORE = 3, 5
SAMPLES = 6
FROZEN = ["transformer.wpe.weight"]
# Name: ranks, what the configuration says, frozen parameters, groups of two decays.
CASES = {
    "stage0-f32": (2, {"stage": 0}, {}, False, True),
    "stage1-f32": (2, {"stage": 1}, {}, True, False),
    "stage2-f32": (2, {"stage": 2}, {}, False, True),
    "stage3-f32": (2, {"stage": 3, "sub_group_size": 20000}, {}, True, False),
    "stage0-bf16": (3, {"stage": 0}, {"bf16": {"enabled": True}}, False, True),
    "stage1-bf16": (3, {"stage": 1}, {"bf16": {"enabled": True}}, False, True),
    "stage2-bf16": (3, {"stage": 2}, {"bf16": {"enabled": True}}, True, False),
    "stage3-bf16": (3, {"stage": 3}, {"bf16": {"enabled": True}}, True, False),
    "stage1-f32-sums": (
        3,
        {"stage": 1},
        {"bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp32"}},
        False,
        False,
    ),
    "stage2-f16": (
        3,
        {"stage": 2},
        {"fp16": {"enabled": True, "initial_scale_power": 18}},
        False,
        False,
    ),
}
UNIVERSAL = ("stage1-f32", "stage2-f32", "stage3-f32")


def gpt2(frozen: bool):
    """The model and a batch of six samples."""
    torch.manual_seed(8)
    module, batch = MODELS["gpt2"]()
    for name, parameter in module.named_parameters():
        parameter.requires_grad = not frozen or name not in FROZEN
    ids = torch.randint(1, 128, (SAMPLES, batch["input_ids"].shape[1]))
    return module.eval(), {"input_ids": ids, "labels": ids}


def config_of(name: str) -> dict:
    ranks, block, precision, _, groups = CASES[name]
    adam = {"lr": 1e-3, "eps": 1e-6, "weight_decay": 0.1 if groups else 0.0, "torch_adam": True}
    return {
        "train_micro_batch_size_per_gpu": SAMPLES // ranks,
        "optimizer": {"type": "AdamW", "params": adam},
        "gradient_clipping": 1.0,
        "zero_force_ds_cpu_optimizer": False,
        "zero_allow_untested_optimizer": True,
        "zero_optimization": block,
        **precision,
    }


@pytest.fixture(scope="module")
def deepspeed(tmp_path_factory):
    """A function from a case's name to (its folder, DeepSpeed's losses)."""
    root = tmp_path_factory.mktemp("deepspeed")
    found = {}

    def run(name: str):
        # Cases of as many ranks run one after the other in the same processes.
        names = [other for other, case in CASES.items() if case[0] == CASES[name][0]]
        if name not in found:
            for other in names:
                prepare_case(other, root / other)
            losses = run_deepspeed(CASES[name][0], *(root / other for other in names))
            found.update(zip(names, losses, strict=True))
        return root / name, found[name]

    return run


def prepare_case(name: str, folder) -> None:
    module, batch = gpt2(frozen=CASES[name][3])
    prepare(
        folder,
        config_of(name),
        model="gpt2",
        batch=batch,
        weights=module.state_dict(),
        updates=SAVED + MORE,
        save_after=SAVED,
        frozen=FROZEN if CASES[name][3] else [],
        groups=CASES[name][4],
        universal=name in UNIVERSAL,
        # DeepSpeed's reader refuses its own files ("is not a zero checkpoint").
        readable=name != "stage1-f32-sums",
    )


def resumed(name: str, folder, stage: int):
    """A run here at another number of ranks that has read `folder`."""
    module, batch = gpt2(frozen=CASES[name][3])
    ranks = 5 - CASES[name][0]
    example = {key: value[: SAMPLES // ranks] for key, value in batch.items()}
    config = {key: value for key, value in config_of(name).items() if not key.startswith("train_")}
    config.pop("data_types", None)
    config["zero_optimization"] = {"stage": stage}
    step = zero.compile(module, example, config=config, ranks=ranks, threads=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # DeepSpeed's plain optimizers in 16 bits make an update of zeros at the start.
        warnings.filterwarnings("ignore", message=".*its optimizer made 4 updates, and the run 3")
        step.load_checkpoint(folder)
    return step, batch


def check_weights(step, wanted: dict) -> None:
    """Those that DeepSpeed reads itself, bit by bit."""
    names = {step.aliases.get(name, name) for name in wanted["weights"]}
    trained = {name for name, tensor in step.parameters.items() if tensor.trainable}
    assert names >= trained or not names
    for name, value in wanted["weights"].items():
        assert numpy.array_equal(step.parameter(name), value.float().numpy()), name


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith("-f32")])
def test_f32_goes_on(name, deepspeed):
    """Equal weights, and DeepSpeed's next losses within 1e-4."""
    folder, losses = deepspeed(name)
    stage = (CASES[name][1]["stage"] + 1) % 4
    step, batch = resumed(name, folder / "saved", stage)
    with step:
        check_weights(step, torch.load(folder / "wanted.pt"))
        assert step.position() == (SAVED, SAVED * SAMPLES)
        if CASES[name][3]:
            start = gpt2(True)[0].state_dict()
            for frozen in FROZEN:
                assert numpy.array_equal(step.parameter(frozen), start[frozen].numpy())
        found = [step(batch) for _ in range(MORE)]
    assert found == pytest.approx(losses[SAVED:], rel=1e-4)
    assert losses[-1] < losses[SAVED]


@pytest.mark.parametrize("name", [name for name in CASES if not name.endswith("-f32")])
def test_16_bits_go_on(name, deepspeed):
    """Equal masters. Losses are rounded in other places, so that they are
    only near."""
    folder, losses = deepspeed(name)
    step, batch = resumed(name, folder / "saved", 3)
    wanted = torch.load(folder / "wanted.pt")
    with step:
        if name == "stage0-bf16":
            for key, value in wanted["weights"].items():
                master = torch.from_numpy(step.parameter(key))
                assert master.bfloat16().equal(value) and not master.equal(value.float()), key
        else:
            assert wanted["weights"] or name == "stage1-f32-sums"
            check_weights(step, wanted)
        found, scales = [], []
        for _ in range(MORE):
            found.append(step(batch))
            scales.append(step.last.loss_scale)
    assert found == pytest.approx(losses[SAVED:], rel=1e-2)
    assert scales[0] == wanted["scale"] != 2.0**18


@pytest.mark.parametrize("name", UNIVERSAL)
def test_universal(name, deepspeed, tmp_path):
    """DeepSpeed's own tool finds the same weights and states, bit by bit."""
    folder, _ = deepspeed(name)
    for form in ("saved", "universal"):
        write_checkpoint(read_checkpoint(folder / form), tmp_path / form)
    parts = []
    for form in ("saved", "universal"):
        (path,) = (tmp_path / form).glob("update-*/rank-*.safetensors")
        parts.append(path.read_bytes())
    assert parts[0] == parts[1]


def test_running_statistics(tmp_path):
    """Those of DeepSpeed's first rank, which is the one that saves buffers. Batch norms
    of few samples make rounding grow faster than in other models."""
    torch.manual_seed(8)
    module, batch = MODELS["resnet"]()
    batch = {key: torch.cat([value, value.roll(1, 0)]) for key, value in batch.items()}
    config = config_of("stage2-f32")
    config["train_micro_batch_size_per_gpu"] = len(next(iter(batch.values()))) // 2
    prepare(
        tmp_path,
        config,
        model="resnet",
        batch=batch,
        weights=module.state_dict(),
        updates=SAVED + MORE,
        save_after=SAVED,
        readable=True,
        train=True,
    )
    (losses,) = run_deepspeed(2, tmp_path)
    example = {key: value.chunk(2)[0] for key, value in batch.items()}
    config.pop("train_micro_batch_size_per_gpu")
    with zero.compile(module.train(), example, config=config, ranks=2, threads=1) as step:
        step.load_checkpoint(tmp_path / "saved")
        wanted = torch.load(tmp_path / "wanted.pt")["weights"]
        assert sum("running" in name for name in step.parameters) == 16
        for name in step.parameters:
            assert numpy.array_equal(step.parameter(name), wanted[name].float().numpy()), name
        assert not numpy.array_equal(
            step.parameter("network.1.running_mean"), numpy.zeros(8, numpy.float32)
        )
        found = [step(batch) for _ in range(MORE)]
    assert found == pytest.approx(losses[SAVED:], rel=1e-3)
