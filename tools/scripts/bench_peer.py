"""One rank of a PyTorch or DeepSpeed run for tools/bench, under torchrun.

Trains a GPT of the sizes and initial values of test/Models/generate.py on random
tokens. The last line that rank 0 prints is a JSON object with the seconds of each
timed step, of the slowest rank.
"""

import argparse
import json
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

ADAM = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width)
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width)
        self.c_fc = nn.Linear(width, 4 * width)
        self.m_proj = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            t.view(batch, length, self.heads, -1).transpose(1, 2)
            for t in self.c_attn(self.ln_1(x)).split(width, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.m_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    """The output projection is the token embedding."""

    def __init__(self, options):
        super().__init__()
        self.wte = nn.Embedding(options.vocabulary, options.width)
        self.wpe = nn.Embedding(options.sequence, options.width)
        self.h = nn.ModuleList(
            Block(options.width, options.heads) for _ in range(options.layers)
        )
        self.ln_f = nn.LayerNorm(options.width)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def make_deepspeed_step(options, model, stage):
    import deepspeed

    # Clipping is on by default there.
    config = {
        "train_micro_batch_size_per_gpu": options.batch,
        "optimizer": {"type": "AdamW", "params": ADAM},
        "zero_optimization": {"stage": stage},
        "gradient_clipping": 0.0,
        "steps_per_print": 10**9,
    }
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=config
    )

    def step(tokens, targets):
        engine.backward(engine(tokens, targets))
        engine.step()

    return step


def make_torch_step(options, model):
    if options.engine.startswith("fsdp2"):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        reshard = options.engine == "fsdp2"
        for block in model.h:
            fully_shard(block, mesh=mesh, reshard_after_forward=reshard)
        fully_shard(model, mesh=mesh, reshard_after_forward=reshard)
    else:
        model = nn.parallel.DistributedDataParallel(model)
    if options.engine == "zero-redundancy":
        from torch.distributed.optim import ZeroRedundancyOptimizer

        optimizer = ZeroRedundancyOptimizer(
            model.parameters(), optimizer_class=torch.optim.AdamW, fused=True, **ADAM
        )
    else:
        optimizer = torch.optim.AdamW(model.parameters(), fused=True, **ADAM)

    def step(tokens, targets):
        optimizer.zero_grad(set_to_none=True)
        model(tokens, targets).backward()
        optimizer.step()

    return step


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True)
    for name in ("layers", "width", "heads", "sequence", "vocabulary", "batch", "steps", "warmup"):
        parser.add_argument(f"--{name}", type=int, required=True)
    return parser.parse_args()


def main():
    options = parse()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = GPT(options)
    if options.engine.startswith("ds-"):
        step = make_deepspeed_step(options, model, int(options.engine[-1]))
    else:
        step = make_torch_step(options, model)

    generator = torch.Generator().manual_seed(1 + dist.get_rank())
    shape = (options.batch, options.sequence + 1)
    seconds = torch.zeros(options.warmup + options.steps, dtype=torch.float64)
    for i in range(len(seconds)):
        tokens = torch.randint(0, options.vocabulary, shape, generator=generator)
        dist.barrier()
        start = time.perf_counter()
        step(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        seconds[i] = time.perf_counter() - start
    dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        print(json.dumps({"steps": seconds[options.warmup :].tolist()}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
