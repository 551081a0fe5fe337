"""One rank of a PyTorch or DeepSpeed run for tools/bench, under torchrun.

Trains a GPT or a Llama of the sizes and initial values of test/Models/generate.py on
random tokens. The last line that rank 0 prints is a JSON object with the seconds of
each timed step, of the slowest rank, and those to the end of the first step.
"""

import argparse
import contextlib
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
        initialize(self)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def initialize(model):
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


def rotate(x, angles):
    """Rotary positions of [batch, heads, length, size], halves as in Llama."""
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class LlamaBlock(nn.Module):
    def __init__(self, options):
        super().__init__()
        width, self.size = options.width, options.width // options.heads
        narrow = self.size * options.key_heads
        self.groups = options.heads // options.key_heads
        self.input_norm = nn.RMSNorm(width, eps=1e-5)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, narrow, bias=False)
        self.v = nn.Linear(width, narrow, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.post_norm = nn.RMSNorm(width, eps=1e-5)
        self.gate = nn.Linear(width, options.hidden, bias=False)
        self.up = nn.Linear(width, options.hidden, bias=False)
        self.down = nn.Linear(options.hidden, width, bias=False)

    def split(self, x):
        return x.unflatten(-1, (-1, self.size)).transpose(1, 2)

    def forward(self, x):
        n = self.input_norm(x)
        frequencies = 10000.0 ** (-torch.arange(0, self.size, 2) / self.size)
        angles = torch.outer(torch.arange(x.shape[1]), frequencies)
        q, k = (rotate(self.split(part(n)), angles) for part in (self.q, self.k))
        k, v = (t.repeat_interleave(self.groups, dim=1) for t in (k, self.split(self.v(n))))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        n = self.post_norm(x)
        return x + self.down(F.silu(self.gate(n)) * self.up(n))


class Llama(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.embed = nn.Embedding(options.vocabulary, options.width)
        self.h = nn.ModuleList(LlamaBlock(options) for _ in range(options.layers))
        self.norm = nn.RMSNorm(options.width, eps=1e-5)
        self.head = nn.Linear(options.width, options.vocabulary, bias=False)
        initialize(self)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        for block in self.h:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


def make_deepspeed_step(options, model, stage):
    import deepspeed

    # Clipping is on by default there.
    config = {
        "train_micro_batch_size_per_gpu": options.batch,
        "optimizer": {"type": "AdamW", "params": ADAM},
        "zero_optimization": {"stage": stage},
        "gradient_clipping": 0.0,
        "bf16": {"enabled": options.precision == "bf16"},
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
    half = options.precision == "bf16"
    context = contextlib.nullcontext
    if options.engine.startswith("fsdp2"):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        policy = MixedPrecisionPolicy()
        if half:
            policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        sharding = {
            "mesh": init_device_mesh("cpu", (dist.get_world_size(),)),
            "reshard_after_forward": options.engine != "fsdp2-z2",
            "mp_policy": policy,
        }
        for block in model.h:
            fully_shard(block, **sharding)
        fully_shard(model, **sharding)
    else:
        if half:
            context = lambda: torch.autocast("cpu", torch.bfloat16)  # noqa: E731
        model = nn.parallel.DistributedDataParallel(model)
    run = torch.compile(model) if options.engine.endswith("-compile") else model
    if options.engine == "zero-redundancy":
        from torch.distributed.optim import ZeroRedundancyOptimizer

        optimizer = ZeroRedundancyOptimizer(
            model.parameters(), optimizer_class=torch.optim.AdamW, fused=True, **ADAM
        )
    else:
        optimizer = torch.optim.AdamW(model.parameters(), fused=True, **ADAM)

    def step(tokens, targets):
        optimizer.zero_grad(set_to_none=True)
        with context():
            loss = run(tokens, targets)
        loss.backward()
        optimizer.step()

    return step


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True)
    for name in ("layers", "width", "heads", "sequence", "vocabulary", "batch", "steps", "warmup"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--kind", choices=("gpt", "llama"), default="gpt")
    parser.add_argument("--key-heads", type=int)
    parser.add_argument("--hidden", type=int)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--started", type=float, default=time.time(),
                        help="when the command began, in seconds since 1970")
    return parser.parse_args()


def main():
    options = parse()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = (Llama if options.kind == "llama" else GPT)(options)
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
        if i == 0:
            first = time.time() - options.started
    dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        record = {"steps": seconds[options.warmup :].tolist(), "first_step_s": first}
        print(json.dumps(record), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
