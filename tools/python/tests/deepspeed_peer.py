"""One rank of DeepSpeed on the CPU: python deepspeed_peer.py RANK RANKS FOLDER MODEL

Trains the model of that name of models.py by FOLDER/config.json on this rank's part of
FOLDER/batch.pt; rank 0 writes the losses of all updates, averaged over the ranks, to
FOLDER/losses.json.
"""

import json
import os
import pathlib
import sys

os.environ["DS_ACCELERATOR"] = "cpu"

import deepspeed  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from models import MODELS  # noqa: E402


def main(rank: int, ranks: int, folder: pathlib.Path, name: str) -> None:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks))
    torch.set_num_threads(1)
    deepspeed.init_distributed(
        dist_backend="gloo",
        auto_mpi_discovery=False,
        init_method=f"file://{folder}/rendezvous",
        rank=rank,
        world_size=ranks,
        verbose=False,
    )
    torch.manual_seed(8)
    module, _ = MODELS[name]()
    settings = torch.load(folder / "batch.pt")
    module.load_state_dict(settings["weights"])
    batch = {key: value.chunk(ranks)[rank] for key, value in settings["batch"].items()}
    engine, *_ = deepspeed.initialize(
        model=module.eval(),
        model_parameters=module.parameters(),
        config=str(folder / "config.json"),
    )
    losses = []
    for _ in range(settings["updates"]):
        loss = engine(**batch).loss
        engine.backward(loss)
        engine.step()
        mean = loss.detach().double()
        dist.all_reduce(mean)
        losses.append(mean.item() / ranks)
    if rank == 0:
        (folder / "losses.json").write_text(json.dumps(losses))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4])
