"""One rank of DeepSpeed on the CPU: python deepspeed_peer.py RANK RANKS FOLDER...

For each folder, trains by FOLDER/config.json on this rank's part of the batch of
FOLDER/settings.pt; rank 0 writes the losses of all updates, averaged over the ranks, to
FOLDER/losses.json. Where the settings have `save_after`, a checkpoint is saved after as
many updates, with what DeepSpeed itself reads from it in FOLDER/wanted.pt.
"""

import json
import os
import pathlib
import sys

os.environ["DS_ACCELERATOR"] = "cpu"

import deepspeed  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from deepspeed.accelerator import get_accelerator  # noqa: E402
from deepspeed.checkpoint import ds_to_universal  # noqa: E402
from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint  # noqa: E402
from models import MODELS  # noqa: E402

# PyTorch computes f16 on the CPU; DeepSpeed does not offer it.
get_accelerator().is_fp16_supported = lambda: True


def main(rank: int, ranks: int, folders: list[pathlib.Path]) -> None:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks))
    torch.set_num_threads(1)
    deepspeed.init_distributed(
        dist_backend="gloo",
        auto_mpi_discovery=False,
        init_method=f"file://{folders[0]}/rendezvous",
        rank=rank,
        world_size=ranks,
        verbose=False,
    )
    for folder in folders:
        train(rank, ranks, folder)
    dist.destroy_process_group()


def train(rank: int, ranks: int, folder: pathlib.Path) -> None:
    settings = torch.load(folder / "settings.pt")
    torch.manual_seed(8)
    module, _ = MODELS[settings["model"]]()
    module.load_state_dict(settings["weights"])
    for name, parameter in module.named_parameters():
        parameter.requires_grad = name not in settings.get("frozen", ())
    batch = {key: value.chunk(ranks)[rank] for key, value in settings["batch"].items()}
    engine, *_ = deepspeed.initialize(
        model=module.train(settings.get("train", False)),
        model_parameters=groups(module, settings.get("groups", False)),
        config=str(folder / "config.json"),
    )
    losses = []
    for update in range(settings["updates"]):
        if update == settings.get("save_after"):
            save(engine, rank, folder, settings)
        result = engine(**batch)
        loss = result if isinstance(result, torch.Tensor) else result.loss
        engine.backward(loss)
        engine.step()
        mean = loss.detach().double()
        dist.all_reduce(mean)
        losses.append(mean.item() / ranks)
    if rank == 0:
        (folder / "losses.json").write_text(json.dumps(losses))


def groups(module, cut: bool):
    """All trained parameters, or with groups that differ in weight decay."""
    trained = [p for p in module.parameters() if p.requires_grad]
    if not cut:
        return trained
    return [
        {"params": [p for p in trained if p.dim() >= 2]},
        {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0},
    ]


def save(engine, rank: int, folder: pathlib.Path, settings: dict) -> None:
    saved = folder / "saved"
    engine.save_checkpoint(str(saved))
    stage = engine.zero_optimization_stage()
    dist.barrier()
    if rank == 0:
        weights = engine.module.state_dict() if not stage else {}
        if stage and settings["readable"]:
            weights = get_fp32_state_dict_from_zero_checkpoint(str(saved))
        wanted = {
            "weights": {name: value.detach().clone() for name, value in weights.items()},
            "scale": getattr(engine.optimizer, "loss_scale", 1.0),
        }
        torch.save(wanted, folder / "wanted.pt")
        if settings.get("universal"):
            tag = (saved / "latest").read_text()
            sys.argv = [
                "ds_to_universal",
                *("--input_folder", str(saved / tag)),
                *("--output_folder", str(folder / "universal" / tag)),
                *("--num_extract_workers", "1"),
                *("--num_merge_workers", "1"),
                "--inject_missing_state",
            ]
            ds_to_universal.main(ds_to_universal.parse_arguments())
    dist.barrier()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), [pathlib.Path(word) for word in sys.argv[3:]])
