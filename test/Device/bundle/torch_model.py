#!/usr/bin/env python3
"""A training step of GPT-2 or Llama in PyTorch, compiled, with flash attention, gradients
clipped to a norm of 1, and the fused AdamW with a decay of 0.1:

  torch_model.py MODEL-AS-JSON          f32 parameters, bf16 by autocast
  torch_model.py MODEL-AS-JSON --bf16   parameters, gradients and moments in bf16

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


def attend(q, k, v, **options):
    """Of [batch, context, heads, head] each."""
    q, k, v = (part.transpose(1, 2) for part in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, **options).transpose(1, 2)


class GptBlock(nn.Module):
    def __init__(self, size):
        super().__init__()
        width, self.heads = size["width"], size["heads"]
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.ln_1(x)).unflatten(2, (3, self.heads, -1)).unbind(2)
        x = x + self.projection(attend(q, k, v).flatten(2))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class LlamaBlock(nn.Module):
    def __init__(self, size):
        super().__init__()
        width, hidden, self.heads = size["width"], size["hidden"], size["heads"]
        keys = width // self.heads * size["key_heads"]
        self.groups = size["key_heads"]
        self.norm_1, self.norm_2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.q, self.o = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.k, self.v = (nn.Linear(width, keys, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)
        angles = torch.outer(torch.arange(size["context"]).float(), 1e4 ** (
            -torch.arange(0, width // self.heads, 2) / (width // self.heads)))
        self.register_buffer("turn", torch.cat([angles, angles], 1)[:, None])

    def rotated(self, x):
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat([-second, first], -1)
        return x * self.turn.cos().to(x.dtype) + turned * self.turn.sin().to(x.dtype)

    def forward(self, x):
        n = self.norm_1(x)
        q = self.rotated(self.q(n).unflatten(2, (self.heads, -1)))
        k, v = (part(n).unflatten(2, (self.groups, -1)) for part in (self.k, self.v))
        x = x + self.o(attend(q, self.rotated(k), v, enable_gqa=True).flatten(2))
        n = self.norm_2(x)
        return x + self.down(F.silu(self.gate(n)) * self.up(n))


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        width, is_gpt = size["width"], size["family"] == "gpt"
        self.tokens = nn.Embedding(size["vocabulary"], width)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.places = nn.Embedding(size["context"], width) if is_gpt else None
        if is_gpt:
            nn.init.normal_(self.places.weight, std=0.02)
        block = GptBlock if is_gpt else LlamaBlock
        self.blocks = nn.ModuleList(block(size) for _ in range(size["layers"]))
        self.norm = nn.LayerNorm(width) if is_gpt else nn.RMSNorm(width, eps=1e-5)
        # GPT-2's last product has the table of the tokens.
        self.head = None if is_gpt else nn.Linear(width, size["vocabulary"], bias=False)

    def forward(self, ids, targets):
        x = self.tokens(ids)
        if self.places is not None:
            x = x + self.places.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        head = self.tokens if self.head is None else self.head
        logits = F.linear(self.norm(x), head.weight)
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
