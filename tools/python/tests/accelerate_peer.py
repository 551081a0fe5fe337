"""One rank of PyTorch's FSDP on the CPU: python accelerate_peer.py RANK RANKS FOLDER

Trains a model for two updates, cut over the ranks, and saves it as accelerate does: by its
own functions where FOLDER/settings.pt says so. Rank 0 saves what the module has, whole."""

import pathlib
import sys
from types import SimpleNamespace

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from models import MODELS
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
)
from torch.distributed.fsdp import StateDictType, fully_shard


def trained(settings: dict):
    """(module, optimizer), each of whose parameters is cut."""
    torch.manual_seed(8)
    module, batch = MODELS[settings["model"]]()
    fully_shard(module.eval())
    optimizer = torch.optim.AdamW(module.parameters(), **settings["adam"])
    for _ in range(settings["updates"]):
        optimizer.zero_grad()
        module(**batch).loss.backward()
        optimizer.step()
    return module, optimizer


def save_by_accelerate(module, optimizer, folder: str) -> None:
    from accelerate import PartialState
    from accelerate.utils import FullyShardedDataParallelPlugin, fsdp_utils

    PartialState(cpu=True)
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2, state_dict_type=StateDictType.SHARDED_STATE_DICT
    )
    accelerator = SimpleNamespace(process_index=dist.get_rank(), num_processes=2, is_fsdp2=True)
    fsdp_utils.save_fsdp_model(plugin, accelerator, module, folder)
    fsdp_utils.save_fsdp_optimizer(plugin, accelerator, optimizer, module, folder)


def save(module, optimizer, folder: pathlib.Path) -> None:
    for name, state in (
        ("pytorch_model_fsdp_0", {"model": get_model_state_dict(module)}),
        ("optimizer_0", {"optimizer": get_optimizer_state_dict(module, optimizer)}),
    ):
        dcp.save(state, checkpoint_id=folder / name)


def main(rank: int, ranks: int, folder: pathlib.Path) -> None:
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=ranks
    )
    settings = torch.load(folder / "settings.pt")
    module, optimizer = trained(settings)
    if settings["by_accelerate"]:
        save_by_accelerate(module, optimizer, str(folder / "saved"))
    else:
        save(module, optimizer, folder / "saved")
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    whole = get_state_dict(module, optimizer, options=options)
    if rank == 0:
        torch.save(whole, folder / "whole.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]))
