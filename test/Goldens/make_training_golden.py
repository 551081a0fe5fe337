#!/usr/bin/env python3
"""Writes what PyTorch does in 50 updates of two tiny models: training.json.

Usage: make_training_golden.py        (needs torch and safetensors)

Writes beside itself
  tiny.txt                      the data, text made here
  tiny-gpt.safetensors          initial weights of test/Models/tiny-gpt.mlir
  tiny-gpt-trained.safetensors  its weights after the last update in f32
  tiny-llama.safetensors        initial weights of test/Models/tiny-llama.mlir
  training.json                 settings, and for each model and precision the
                                losses, gradient norms and final L2 norms

The models are written again here, in PyTorch, and so are the order of the data
and the rules of 16-bit training: each operation widens to f32, computes, and
rounds its results and gradients once; gradients of micro-batches are added in
f32; AdamW runs on f32 masters.
"""

import json
import math
import os
import random

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

FOLDER = os.path.dirname(os.path.abspath(__file__))
# The bias of the keys has no effect on attention: its gradient is rounding. A
# larger eps than usual keeps Adam from making steps of it.
SETTINGS = {
    "steps": 50, "seed": 7, "global_batch": 24, "micro_batch": 2, "sequence": 16,
    "lr": 0.004, "betas": [0.9, 0.999], "eps": 1e-6, "weight_decay": 0.1, "clip": 1.0,
    "initial_scale_power": 10, "loss_scale_window": 20,
}
MASK = (1 << 64) - 1


# The data: sentences of a small grammar.

def make_text():
    rng = random.Random(3)
    nouns = "rank slice bucket gradient moment weight master link kernel shard".split()
    verbs = "holds sends gathers reduces frees updates clips".split()
    places = ["in the forward", "in the backward", "after the last micro-batch",
              "before its use", "once", "in rank order"]
    lines = []
    while sum(map(len, lines)) < 4000:
        first, second = rng.choice(nouns), rng.choice(nouns)
        verb, number = rng.choice(verbs), rng.choice(["a", "the", "every", "no"])
        lines.append(f"The {first} {verb} {number} {second} {rng.choice(places)}.\n")
    return "".join(lines).encode()


# The order of samples: runtime/data/Permutation.cpp, Batches.cpp, TokenFile.cpp.

def mix_bits(a, b):
    z = (a + 0x9e3779b97f4a7c15 * (b + 1)) & MASK
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
    return z ^ (z >> 31)


def permute(index, count, key):
    if count < 2:
        return 0
    bits = 1
    while bits < 32 and (count - 1) >> (2 * bits):
        bits += 1
    half = (1 << bits) - 1
    while True:
        left, right = index >> bits, index & half
        for turn in range(6):
            left, right = right, left ^ (mix_bits((key + turn) & MASK, right) & half)
        index = left << bits | right
        if index < count:
            return index


def sample(data, position):
    """Tokens and targets of a position in the endless sequence of samples."""
    length, seed = SETTINGS["sequence"], SETTINGS["seed"]
    windows = (len(data) - 1) // length - 1
    slack = len(data) - 1 - windows * length
    epoch = position // windows
    index = permute(position % windows, windows, mix_bits(seed, epoch))
    first = mix_bits(~seed & MASK, epoch) % (slack + 1) + index * length
    window = torch.tensor(list(data[first:first + length + 1]))
    return window[:-1], window[1:]


def micro_batches(data, step):
    total, size = SETTINGS["global_batch"], SETTINGS["micro_batch"]
    for first in range(step * total, (step + 1) * total, size):
        pairs = [sample(data, first + i) for i in range(size)]
        yield tuple(torch.stack(column) for column in zip(*pairs))


# Models: functions of the wide parameters `p`; `n` rounds a result.

WIDTH, HEADS, KEY_HEADS, HIDDEN, LAYERS, VOCABULARY = 32, 4, 2, 48, 2, 256


def heads_of(x, heads):
    return x.view(*x.shape[:2], heads, WIDTH // HEADS).transpose(1, 2)


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


def gpt(p, n, tokens, targets):
    def norm(x, name):
        return n(F.layer_norm(x, (WIDTH,), p[name + ".weight"], p[name + ".bias"], 1e-5))

    def linear(x, weight, bias):
        return n(x @ p[weight + ".weight"] + p[bias + ".bias"])

    x = n(n(p["wte.weight"][tokens]) + p["wpe.weight"])
    for i in range(LAYERS):
        at = f"h.{i}."
        qkv = linear(norm(x, at + "ln_1"), at + "attn.c_attn", at + "attn.c_attn")
        q, k, v = (heads_of(y, HEADS) for y in qkv.split(WIDTH, dim=2))
        a = linear(n(attend(q, k, v)), at + "attn.c_proj", at + "attn.c_proj")
        x = n(x + a)
        f = linear(norm(x, at + "ln_2"), "h.0.mlp.c_fc", at + "mlp.c_fc")
        x = n(x + linear(n(F.gelu(f, approximate="tanh")), at + "mlp.c_proj",
                         at + "mlp.c_proj"))
    logits = n(norm(x, "ln_f") @ p["wte.weight"].T)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def rotary(x):
    half = x.shape[-1] // 2
    rates = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.outer(torch.arange(x.shape[2], dtype=torch.float64), rates)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def llama(p, n, tokens, targets):
    def norm(x, name):
        return n(F.rms_norm(x, (WIDTH,), p[name], 1e-5))

    x = n(p["model.embed_tokens.weight"][tokens])
    for i in range(LAYERS):
        at = f"model.layers.{i}."

        def linear(x, name):
            return n(x @ p[f"{at}{name}.weight"].T)

        y = norm(x, at + "input_layernorm.weight")
        q = n(rotary(heads_of(linear(y, "self_attn.q_proj"), HEADS)))
        k = n(rotary(heads_of(linear(y, "self_attn.k_proj"), KEY_HEADS)))
        v = heads_of(linear(y, "self_attn.v_proj"), KEY_HEADS)
        k, v = (z.repeat_interleave(HEADS // KEY_HEADS, dim=1) for z in (k, v))
        x = n(x + linear(n(attend(q, k, v)), "self_attn.o_proj"))
        y = norm(x, at + "post_attention_layernorm.weight")
        g = n(n(F.silu(linear(y, "mlp.gate_proj"))) * linear(y, "mlp.up_proj"))
        x = n(x + linear(g, "mlp.down_proj"))
    logits = n(norm(x, "model.norm.weight") @ p["lm_head.weight"].T)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def gpt_shapes():
    yield "wte.weight", (VOCABULARY, WIDTH)
    yield "wpe.weight", (SETTINGS["sequence"], WIDTH)
    for i in range(LAYERS):
        for name, inner, outer in (("ln_1", 0, WIDTH), ("attn.c_attn", WIDTH, 3 * WIDTH),
                                   ("attn.c_proj", WIDTH, WIDTH), ("ln_2", 0, WIDTH),
                                   ("mlp.c_fc", WIDTH, 4 * WIDTH),
                                   ("mlp.c_proj", 4 * WIDTH, WIDTH)):
            if i == 0 or name != "mlp.c_fc":
                yield f"h.{i}.{name}.weight", (inner, outer) if inner else (outer,)
            yield f"h.{i}.{name}.bias", (outer,)
    yield "ln_f.weight", (WIDTH,)
    yield "ln_f.bias", (WIDTH,)


def llama_shapes():
    narrow = WIDTH // HEADS * KEY_HEADS
    yield "model.embed_tokens.weight", (VOCABULARY, WIDTH)
    for i in range(LAYERS):
        for name, shape in (("input_layernorm", (WIDTH,)),
                            ("self_attn.q_proj", (WIDTH, WIDTH)),
                            ("self_attn.k_proj", (narrow, WIDTH)),
                            ("self_attn.v_proj", (narrow, WIDTH)),
                            ("self_attn.o_proj", (WIDTH, WIDTH)),
                            ("post_attention_layernorm", (WIDTH,)),
                            ("mlp.gate_proj", (HIDDEN, WIDTH)),
                            ("mlp.up_proj", (HIDDEN, WIDTH)),
                            ("mlp.down_proj", (WIDTH, HIDDEN))):
            yield f"model.layers.{i}.{name}.weight", shape
    yield "model.norm.weight", (WIDTH,)
    yield "lm_head.weight", (VOCABULARY, WIDTH)


def initial(shapes):
    """Matrices and biases are random, scales are near 1."""
    generator = torch.Generator().manual_seed(11)
    weights = {}
    for name, shape in shapes:
        scale = len(shape) == 1 and name.endswith("weight")
        values = torch.randn(shape, generator=generator) * (0.1 if len(shape) == 2 else 0.02)
        weights[name] = values + 1 if scale else values
    return weights


# Training.

def rounded(master, dtype):
    """The compute copy of a master; bf16 rounds half away from zero."""
    if dtype != torch.bfloat16:
        return master.to(dtype)
    bits = master.view(torch.int32)
    return ((bits + 0x8000) & -0x10000).view(torch.float32).to(dtype)


class Scaler:
    """The dynamic loss scale; these runs never overflow, so it only grows, at
    first one update later than after an overflow."""

    def __init__(self, dtype):
        self.scale = 2.0 ** SETTINGS["initial_scale_power"] if dtype == torch.float16 else 1.0
        self.dynamic, self.updates = dtype == torch.float16, 0

    def update(self):
        if self.dynamic and self.updates and self.updates % SETTINGS["loss_scale_window"] == 0:
            self.scale *= 2
        self.updates += 1


def gradients(model, compute, dtype, trainable, batches, scale):
    """The mean loss, and the scaled gradients in f32."""
    wide_type = torch.promote_types(dtype, torch.float32)
    accumulation = SETTINGS["global_batch"] // SETTINGS["micro_batch"]
    total = {name: torch.zeros_like(compute[name], dtype=wide_type) for name in trainable}
    losses = []
    for tokens, targets in batches:
        leaves = {name: value.clone().requires_grad_(name in trainable)
                  for name, value in compute.items()}
        wide = {name: leaf.to(wide_type) for name, leaf in leaves.items()}
        loss = model(wide, lambda x: x.to(dtype).to(wide_type), tokens, targets)
        (loss * (scale / accumulation)).backward()
        losses.append(loss.item())
        for name in trainable:
            total[name] += leaves[name].grad.to(wide_type)
    assert len(losses) == accumulation
    return sum(losses) / accumulation, total


def train(model, weights, dtype, data, frozen=()):
    master_type = torch.promote_types(dtype, torch.float32)
    master = {name: value.to(master_type, copy=True) for name, value in weights.items()}
    trainable = [name for name in master if name not in frozen]
    decayed = [name for name in trainable if master[name].dim() == 2]
    groups = [{"params": [master[n] for n in trainable if n in decayed],
               "weight_decay": SETTINGS["weight_decay"]},
              {"params": [master[n] for n in trainable if n not in decayed],
               "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=SETTINGS["lr"], betas=SETTINGS["betas"],
                                  eps=SETTINGS["eps"])
    scaler = Scaler(dtype)
    result = {"losses": [], "grad_norms": [], "loss_scales": []}
    for step in range(SETTINGS["steps"]):
        compute = {name: rounded(value.detach(), dtype) for name, value in master.items()}
        loss, total = gradients(model, compute, dtype, trainable, micro_batches(data, step),
                                scaler.scale)
        squares = sum(g.double().square().sum().item() for g in total.values())
        norm = math.sqrt(squares) / scaler.scale
        assert math.isfinite(norm)
        factor = min(1.0, SETTINGS["clip"] / (norm + 1e-6)) / scaler.scale
        for name in trainable:
            master[name].grad = total[name] * factor
        optimizer.step()
        result["losses"].append(loss)
        result["grad_norms"].append(norm)
        result["loss_scales"].append(scaler.scale)
        scaler.update()
    result["l2"] = {name: value.double().norm().item() for name, value in master.items()}
    return result, master


def report(name, result):
    losses = result["losses"]
    clipped = sum(norm > SETTINGS["clip"] for norm in result["grad_norms"])
    assert losses[0] - losses[-1] >= 1.0, "the loss must fall by 1"
    assert 15 <= clipped <= 35, f"clipping must be active in about half: {clipped}"
    print(f"{name}: {losses[0]:.4f} -> {losses[-1]:.4f}, clipped in {clipped}")


def main():
    torch.set_num_threads(1)
    data = make_text()
    with open(os.path.join(FOLDER, "tiny.txt"), "wb") as file:
        file.write(data)
    golden = {"settings": SETTINGS}
    weights = initial(gpt_shapes())
    save_file(weights, os.path.join(FOLDER, "tiny-gpt.safetensors"))
    golden["gpt"] = {}
    for name, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16),
                        ("f16", torch.float16)):
        result, trained = train(gpt, weights, dtype, data, frozen=("wpe.weight",))
        report("gpt " + name, result)
        golden["gpt"][name] = result
        if name == "f32":
            save_file({n: v.detach() for n, v in trained.items()},
                      os.path.join(FOLDER, "tiny-gpt-trained.safetensors"))
    weights = initial(llama_shapes())
    save_file(weights, os.path.join(FOLDER, "tiny-llama.safetensors"))
    result, _ = train(llama, weights, torch.float32, data)
    report("llama f32", result)
    golden["llama"] = {"f32": result}
    with open(os.path.join(FOLDER, "training.json"), "w") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
