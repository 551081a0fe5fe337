#!/usr/bin/env python3
"""A training step of GPT-2 in PyTorch, compiled, with bf16 autocast, flash
attention and the fused AdamW: torch_gpt.py MODEL-AS-JSON. Prints JSON; exit
code 77 where PyTorch or its GPU is missing, and the last line says why."""

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
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        sys.exit(77)
    torch.manual_seed(1)
    model = Model(size).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, fused=True)
    compiled = torch.compile(model)
    shape = (size["micro_batch"], size["context"])

    def step():
        ids, targets = (torch.randint(size["vocabulary"], shape, device="cuda") for _ in range(2))
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = compiled(ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for _ in range(4):
        step()
    seconds = []
    for _ in range(size["steps"]):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        step()
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    print(json.dumps({"step_s": statistics.median(seconds), "torch": torch.__version__,
                      "memory": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
