"""One rank of PyTorch on the CPU: python dcp_peer.py RANK RANKS FOLDER

Trains the model of FOLDER/settings.pt, whose weights are cut over the ranks in both
dimensions, and saves it with torch.distributed.checkpoint."""

import pathlib
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh


def main(rank: int, ranks: int, folder: pathlib.Path) -> None:
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=ranks
    )
    mesh = init_device_mesh("cpu", (ranks,))
    state = torch.load(folder / "settings.pt")
    cut = {}
    for number, (name, value) in enumerate(state.items()):
        # Rows, columns, or a copy on each rank.
        placement = [Shard(0), Shard(1), Replicate()][number % 3 if value.dim() > 1 else 0]
        cut[name] = distribute_tensor(value, mesh, [placement]) if value.dim() else value
    dcp.save(nested(cut), checkpoint_id=folder / "saved")
    dist.destroy_process_group()


def nested(state: dict) -> dict:
    """ "model/NAME" and "state/NAME/exp_avg" as get_state_dict nests them."""
    result: dict = {"model": {}, "optimizer": {"state": {}, "param_groups": []}}
    for name, value in state.items():
        kind, parameter, *rest = name.split("/")
        if kind == "model":
            result["model"][parameter] = value
        else:
            result["optimizer"]["state"].setdefault(parameter, {})[rest[0]] = value
    return result


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]))
