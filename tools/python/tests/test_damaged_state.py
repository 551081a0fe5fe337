"""Damaged and unknown checkpoints of DeepSpeed's layout: one error each."""

from __future__ import annotations

import resource
import shutil
from collections import OrderedDict

import pytest
import torch

from zero.checkpoints import CheckpointError, read_checkpoint, write_checkpoint, write_weights
from zero.checkpoints.cli import main
from zero.checkpoints.matching import match
from zero.checkpoints.values import equal

SHAPES = {"a.weight": (5, 3), "a.bias": (3,), "b.weight": (3, 3)}
TAG = "global_step4"


def elements() -> int:
    return sum(torch.Size(shape).numel() for shape in SHAPES.values())


def write(folder, stage: int, ranks: int = 3) -> None:
    """What DeepSpeed writes after four updates, one of them skipped."""
    place = folder / TAG
    place.mkdir(parents=True)
    (folder / "latest").write_text(TAG)
    generator = torch.Generator().manual_seed(stage)
    whole = {
        key: {name: torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}
        for key in ("value", "exp_avg", "exp_avg_sq")
    }
    for rank in range(ranks):
        flat = {
            key: cut(list(tensors.values()), stage, rank, ranks) for key, tensors in whole.items()
        }
        state = {"step": torch.tensor(3.0), **{k: v for k, v in flat.items() if k != "value"}}
        optimizer = {"state": {0: state}, "param_groups": [{"betas": (0.9, 0.999)}]}
        saved = {"zero_stage": stage, "partition_count": ranks if stage == 3 else [ranks]}
        if stage == 3:
            saved.update(fp32_flat_groups=[flat["value"]], optimizer_state_dict=optimizer)
        else:
            saved.update(
                single_partition_of_fp32_groups=[flat["value"]], base_optimizer_state=optimizer
            )
        name = f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt"
        torch.save({"optimizer_state_dict": saved}, place / name)
        model = {
            "module": OrderedDict(
                (name, torch.empty(0) if stage == 3 else value.half())
                for name, value in whole["value"].items()
            ),
            "buffer_names": [],
            "param_shapes": [OrderedDict((k, torch.Size(v)) for k, v in SHAPES.items())],
            "shared_params": {},
            "global_steps": 4,
            "skipped_steps": 1,
            "global_samples": 24,
            "dp_world_size": ranks,
            "lr_scheduler": {"last_batch_iteration": 2},
        }
        if stage == 3:
            torch.save(model, place / f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt")
    if stage < 3:
        torch.save(model, place / "mp_rank_00_model_states.pt")


def cut(tensors, stage: int, rank: int, ranks: int) -> torch.Tensor:
    """A rank's slice."""
    if stage == 3:
        slices = []
        for tensor in tensors:
            share = -(-tensor.numel() // ranks)
            padded = torch.zeros(share * ranks)
            padded[: tensor.numel()] = tensor.flatten()
            slices.append(padded[rank * share : (rank + 1) * share])
        return torch.cat(slices)
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    share = -(-len(flat) // (2 * ranks)) * 2
    return flat[rank * share : (rank + 1) * share].clone()


@pytest.fixture(params=[2, 3])
def saved(request, tmp_path):
    write(tmp_path / "saved", request.param)
    return tmp_path / "saved", request.param


def optim(rank: int) -> str:
    return f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt"


def refusal(folder, change) -> str:
    damaged = folder.parent / "damaged"
    shutil.rmtree(damaged, ignore_errors=True)
    shutil.copytree(folder, damaged)
    change(damaged / TAG)
    with pytest.raises(CheckpointError) as caught:
        write_checkpoint(read_checkpoint(damaged), folder.parent / "out")
    return str(caught.value)


def edit(name: str, change):
    """Changes what a file says."""

    def apply(place):
        saved = torch.load(place / name, weights_only=True)
        change(saved)
        torch.save(saved, place / name)

    return apply


def test_the_source_is_not_the_output(saved, capsys):
    """Its pointer would name what was written, and the source be lost to DeepSpeed."""
    folder, _ = saved
    assert main([str(folder), "-o", str(folder)]) == 1
    assert "has a checkpoint of another program" in capsys.readouterr().err
    assert (folder / "latest").read_text() == TAG


@pytest.mark.parametrize("name", ["run", "weights.safetensors"])
def test_the_limit_on_files_leaves_nothing(saved, name):
    folder, _ = saved
    output = folder.parent / name
    write_it = write_weights if name.endswith(".safetensors") else write_checkpoint
    run = read_checkpoint(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (256, hard))
    try:
        with pytest.raises(CheckpointError) as caught:
            write_it(run, output)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "cannot be written: File too large: raise the limit" in str(caught.value)
    assert [path for path in folder.parent.rglob("*.partial*")] == []


def test_intact(saved):
    folder, _ = saved
    run = read_checkpoint(folder)
    assert (run.steps, run.skipped, run.samples, run.remarks) == (3, 1, 24, [])
    assert sum(parameter.value.elements for parameter in run.parameters) == elements()
    path = write_checkpoint(run, folder.parent / "out", seed=5)
    assert path.endswith("update-0000000004")
    with pytest.raises(CheckpointError, match="has checkpoints already; name another folder"):
        write_checkpoint(run, folder.parent / "out")
    again = read_checkpoint(folder.parent / "out")
    assert [p.name for p in again.parameters] == list(SHAPES)
    for one, other in zip(run.parameters, again.parameters, strict=True):
        assert equal(one.value, other.value)
        assert equal(one.states["exp_avg_sq"], other.states["exp_avg_sq"])
    (shard,) = (folder.parent / "out").glob("update-*/rank-*")
    shard.write_bytes(shard.read_bytes()[:-1] + b"x")
    with pytest.raises(CheckpointError, match="bytes with another checksum than the"):
        read_checkpoint(folder.parent / "out")
    manifest = shard.with_name("manifest.json")
    manifest.write_text(manifest.read_text().replace("exp_avg_sq", "exp_avg_sr"))
    with pytest.raises(CheckpointError, match="its checksum is wrong: the file is damaged"):
        read_checkpoint(folder.parent / "out")


def test_files(saved):
    folder, stage = saved
    assert "optim_states file of rank 1 of 3 is missing" in refusal(
        folder, lambda place: (place / optim(1)).unlink()
    )
    assert "optim_states file of rank 0 of 3 is missing" in refusal(
        folder, lambda place: [(place / optim(rank)).unlink() for rank in range(3)]
    )
    assert f"{optim(3)}: the checkpoint is of 3 ranks" in refusal(
        folder, lambda place: shutil.copy(place / optim(2), place / optim(3))
    )
    if stage == 3:
        assert "model_states file of rank 2 of 3 is missing" in refusal(
            folder, lambda place: (place / "zero_pp_rank_2_mp_rank_00_model_states.pt").unlink()
        )
    else:
        assert "has no model_states file" in refusal(
            folder, lambda place: (place / "mp_rank_00_model_states.pt").unlink()
        )
    other = optim(1).replace("mp_rank_00", "mp_rank_01")
    assert f"{other}: is of a run with model parallelism" in refusal(
        folder, lambda place: shutil.copy(place / optim(1), place / other)
    )
    assert "latest: names 'global_step4', which is not there" in refusal(
        folder, lambda place: place.rename(place.with_name("elsewhere"))
    )


def test_bytes(saved):
    """A file that is cut off, of another form, or has a changed byte in it."""
    folder, _ = saved
    for length in (0, 100, 1000):

        def shorten(place, length=length):
            (place / optim(1)).write_bytes((place / optim(1)).read_bytes()[:length])

        assert f"{optim(1)}: is no archive of torch.save, or it is cut off" in refusal(
            folder, shorten
        )

    def flip(place):
        data = bytearray((place / optim(1)).read_bytes())
        flat = torch.load(place / optim(1), weights_only=True)["optimizer_state_dict"]
        groups = flat.get("fp32_flat_groups") or flat["single_partition_of_fp32_groups"]
        at = data.find(groups[0].numpy().tobytes())
        assert at > 0
        data[at + 5] ^= 1
        (place / optim(1)).write_bytes(data)

    assert "has the checksum" in refusal(folder, flip)

    def old_form(place):
        saved = torch.load(place / optim(1), weights_only=True)
        torch.save(saved, place / optim(1), _use_new_zipfile_serialization=False)

    assert "files of its old form" in refusal(folder, old_form)


def test_sizes(saved):
    folder, stage = saved
    key = "fp32_flat_groups" if stage == 3 else "single_partition_of_fp32_groups"
    base = "optimizer_state_dict" if stage == 3 else "base_optimizer_state"

    def change(function):
        return edit(optim(1), lambda saved: function(saved["optimizer_state_dict"]))

    def shorten(saved):
        saved[key][0] = saved[key][0][:-7].clone()

    def shorten_state(saved):
        state = saved[base]["state"][0]
        state["exp_avg"] = state["exp_avg"][:-1].clone()

    def lengthen(saved):
        saved[key][0] = torch.cat([saved[key][0], torch.zeros(40)])
        for name in ("exp_avg", "exp_avg_sq"):
            state = saved[base]["state"][0]
            state[name] = torch.cat([state[name], torch.zeros(40)])

    def other_step(saved):
        saved[base]["state"][0]["step"] = torch.tensor(2.5)

    message = refusal(folder, change(shorten))
    assert "elements" in message and "damaged" in message
    assert stage < 3 or "elements, and its share of 'a.weight' ends at" in message
    message = refusal(folder, change(shorten_state))
    assert "exp_avg of group 0 has" in message and "elements, and its weights have" in message
    message = refusal(folder, change(lengthen))
    assert "elements" in message and "damaged" in message
    assert "groups of stage" in refusal(
        folder, change(lambda saved: saved[key].append(saved[key][0]))
    )
    assert "is cut over 4 ranks, and the checkpoint over 3" in refusal(
        folder, change(lambda saved: saved.update(partition_count=4))
    )
    assert "partition_count is -1, wanted a whole number, 0 or more" in refusal(
        folder, change(lambda saved: saved.update(partition_count=-1))
    )
    message = refusal(folder, change(lambda saved: saved.pop(key)))
    assert f"has no '{key}': it is of an unknown layout, or damaged" in message
    message = refusal(folder, change(lambda saved: saved.update({key: 3})))
    assert "its weights are int, not groups" in message
    assert "is of stage 7" in refusal(folder, change(lambda saved: saved.update(zero_stage=7)))
    message = refusal(folder, change(lambda saved: saved.update({base: []})))
    assert "its optimizer's states are of DeepSpeed's elastic form; save it" in message


def test_shapes(saved):
    """What each rank says of all parameters, of which some are cut."""
    folder, stage = saved
    names = [f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt" for rank in range(3)]

    def change(function):
        def apply(place):
            for name in names if stage == 3 else ["mp_rank_00_model_states.pt"]:
                edit(name, function)(place)

        return apply

    assert "has no 'param_shapes' of the trained parameters" in refusal(
        folder, change(lambda saved: saved.pop("param_shapes"))
    )
    assert "is twice in 'param_shapes'" in refusal(
        folder, change(lambda saved: saved.update(param_shapes=2 * saved["param_shapes"]))
    )


def test_steps(saved):
    folder, stage = saved
    base = "optimizer_state_dict" if stage == 3 else "base_optimizer_state"

    def later(saved):
        saved["optimizer_state_dict"][base]["state"][0]["step"] = torch.tensor(7.0)

    edit(optim(0), later)(folder / TAG)
    run = read_checkpoint(folder)
    assert run.steps == 7
    assert [remark.split(":")[0].split(",")[0] for remark in run.remarks] == [
        "its optimizer made 7 updates",
        "its learning rate was at update 3 of its schedule",
    ]


def test_refused_names(saved, tmp_path):
    """A pickle that would run a command: the error names it and the file."""
    folder, _ = saved

    class Command:
        def __reduce__(self):
            return (__import__("os").mkdir, (str(tmp_path / "ran"),))

    def add(place):
        torch.save({"optimizer_state_dict": Command()}, place / optim(1))

    wanted = f"{optim(1)}: names 'posix.mkdir', which is not read: a pickle may run what it names"
    assert wanted in refusal(folder, add)
    assert not (tmp_path / "ran").exists()


def test_command(saved, capsys):
    folder, stage = saved
    out = folder.parent / "run"
    assert main([str(folder), "-o", str(out)]) == 0
    assert f"DeepSpeed, stage {stage}, 3 ranks: 3 parameters of 27 elements, after update 4" in (
        capsys.readouterr().out
    )
    assert main([str(folder / TAG), "-o", str(folder.parent / "w.safetensors")]) == 0
    assert main([str(folder), "-o", str(out)]) == 1
    assert "has checkpoints already" in capsys.readouterr().err
    assert main([str(folder.parent / "nowhere"), "-o", str(out)]) == 1
    assert "is no folder" in capsys.readouterr().err
    assert main([str(out), "-o", str(folder.parent / "again")]) == 1
    assert "is a checkpoint of zero already" in capsys.readouterr().err
    (folder.parent / "empty").mkdir()
    assert main([str(folder.parent / "empty"), "-o", str(folder.parent / "again")]) == 1
    assert "is no checkpoint that is known" in capsys.readouterr().err


def test_numbers_without_names():
    """States of PyTorch's optimizers belong to parameters by order and shape alone."""
    model = [("a", (2, 3)), ("b", (3,)), ("c", (2, 3)), ("d", (3,))]
    assert match(model, [[(2, 3), (3,), (2, 3), (3,)]], "f") == [["a", "b", "c", "d"]]
    assert match(model, [[(2, 3), (2, 3)], [(3,), (3,)]], "f") == [["a", "c"], ["b", "d"]]
    assert match(model, [[(2, 3), None, (2, 3)]], "f") == [["a", "b", "c"]]
    for groups, wanted in (
        ([[(2, 3)]], "more than one choice"),
        ([[(2, 3), (3,)], [(2, 3), (3,)]], "more than one choice"),
        ([[(9,)]], "no choice"),
        ([[(3,), (2, 3), (2, 3)]], "no choice"),
    ):
        with pytest.raises(CheckpointError, match=wanted):
            match(model, groups, "f")
