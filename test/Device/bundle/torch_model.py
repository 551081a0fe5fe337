#!/usr/bin/env python3
"""A training step of GPT-2 in PyTorch, compiled, with flash attention, gradients
clipped to a norm of 1, and the fused AdamW with a decay of 0.1:

  torch_gpt.py MODEL-AS-JSON          f32 parameters, bf16 by autocast
  torch_gpt.py MODEL-AS-JSON --bf16   parameters, gradients and moments in bf16

Prints JSON; exit code 77 where PyTorch or its GPU is missing, and the last line
says why."""

import json
import statistics
import sys

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:
    print(f"PyTorch is not installed: {error}")
    sys.exit(77)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, context, width = x.shape
        parts = self.qkv(self.ln_1(x)).view(batch, context, 3, self.heads, -1).unbind(2)
        q, k, v = (part.transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(y.transpose(1, 2).reshape(batch, context, width))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        width = size["width"]
        self.tokens = nn.Embedding(size["vocabulary"], width)
        self.places = nn.Embedding(size["context"], width)
        self.blocks = nn.ModuleList(Block(width, size["heads"]) for _ in range(size["layers"]))
        self.ln = nn.LayerNorm(width)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.places.weight, std=0.02)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.places.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    size = json.loads(sys.argv[1])
    pure = sys.argv[2:] == ["--bf16"]
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        sys.exit(77)
    torch.manual_seed(1)
    with torch.device("cuda"):
        model = Model(size)
    if pure:
        model.bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, fused=True)
    compiled = torch.compile(model)
    shape = (size["micro_batch"], size["context"])

    def step():
        ids, targets = (torch.randint(size["vocabulary"], shape, device="cuda") for _ in range(2))
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=not pure):
            loss = compiled(ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for _ in range(4):
        step()
    # The host runs ahead, as it does in training: it waits once, at the end.
    ends = [torch.cuda.Event(enable_timing=True) for _ in range(size["steps"] + 1)]
    ends[0].record()
    for end in ends[1:]:
        step()
        end.record()
    torch.cuda.synchronize()
    seconds = [begin.elapsed_time(end) * 1e-3 for begin, end in zip(ends, ends[1:])]
    print(json.dumps({"step_s": statistics.median(seconds), "torch": torch.__version__,
                      "kind": "bf16" if pure else "f32 and autocast",
                      "memory": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
