#!/usr/bin/env python3
"""Writes reference.json: what PyTorch computes for nn operations, in f64.

Usage: reference.py > reference.json        (needs torch)

Each case has a function in MLIR, its inputs and its outputs, flat and row-major.
"""

import json
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(0)
cases = []


def array(tensor):
    return {"shape": list(tensor.shape), "values": tensor.flatten().tolist()}


def type_of(tensor):
    element = "f64" if tensor.is_floating_point() else "i32"
    return "tensor<" + "".join(f"{size}x" for size in tensor.shape) + element + ">"


def case(name, operation, inputs, outputs):
    """`operation` is the text of an operation on %0, %1, ... with its
    attributes; the results compared are the first ones."""
    types = [type_of(x) for x in inputs]
    arguments = ", ".join(f"%{i}: {t}" for i, t in enumerate(types))
    results = [type_of(y) for y in outputs]
    names = ", ".join(f"%r{i}" for i in range(len(outputs)))
    text = operation.replace("TYPES", f"({', '.join(types)}) -> ({', '.join(results)})")
    text = text.replace("TYPE", types[0])
    cases.append({
        "name": name,
        "function": f"func.func @{name}({arguments}) -> ({', '.join(results)}) {{\n"
                    f"  {names} = {text}\n"
                    f"  return {names} : {', '.join(results)}\n}}\n",
        "inputs": [array(x) for x in inputs],
        "outputs": [array(y) for y in outputs],
    })


def real(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def attention(q, k, v, scale, mask=None, causal=False):
    """Through PyTorch's own kernel; the logarithm of the sums beside it."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    groups = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(groups, dim=1) for x in (k, v))
    bias = torch.zeros(q.shape[2], k.shape[2], dtype=torch.float64)
    if causal:
        bias = bias.masked_fill(torch.ones_like(bias).triu(1).bool(), float("-inf"))
    if mask is not None:
        bias = bias + mask
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale)
    lse = torch.logsumexp(q @ k.transpose(2, 3) * scale + bias, dim=-1)
    return [out.transpose(1, 2).contiguous(), lse]


def rotary(x, theta, interleaved):
    """By complex numbers: a pair is multiplied by exp(i * angle)."""
    b, t, h, d = x.shape
    frequencies = theta**(-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = torch.arange(t, dtype=torch.float64)[:, None] * frequencies
    turn = torch.polar(torch.ones_like(angles), angles)[None, :, None, :]
    pairs = (x.reshape(b, t, h, d // 2, 2) if interleaved else
             x.reshape(b, t, h, 2, d // 2).transpose(-1, -2)).contiguous()
    turned = torch.view_as_real(torch.view_as_complex(pairs) * turn)
    turned = turned if interleaved else turned.transpose(-1, -2)
    return turned.reshape(b, t, h, d)


x, w, b = real(2, 2, 3), real(3, 4), real(4)
case("linear", "nn.linear %0, %1 bias %2 : TYPES", [x, w, b], [x @ w + b])
case("linear_transposed", "nn.linear %0, %1 bias %2 transposed : TYPES",
     [x, w.T.contiguous(), b], [F.linear(x, w.T, b)])
a, c = real(2, 3, 2), real(2, 4, 3)
case("matmul_transposed", "nn.matmul %0, %1 transpose_a transpose_b : TYPES",
     [a, c], [torch.bmm(a.mT, c.mT)])

q, k, v = real(2, 3, 4, 2), real(2, 5, 2, 2), real(2, 5, 2, 2)
case("attention", "nn.attention %0, %1, %2 scale 0.5 : TYPES",
     [q, k, v], attention(q, k, v, 0.5))
mask = real(2, 1, 3, 5)
case("attention_masked", "nn.attention %0, %1, %2 mask %3 scale 0.7 : TYPES",
     [q, k, v, mask], attention(q, k, v, 0.7, mask))
k, v = real(2, 3, 2, 2), real(2, 3, 2, 2)
case("attention_causal", "nn.attention %0, %1, %2 causal scale 0.5 : TYPES",
     [q, k, v], attention(q, k, v, 0.5, causal=True))
case("rotary", "nn.rotary %0 theta 100.0 : TYPE", [q], [rotary(q, 100.0, False)])
case("rotary_interleaved", "nn.rotary %0 theta 100.0 interleaved : TYPE", [q],
     [rotary(q, 100.0, True)])

x, w, b = real(2, 2, 5), real(5), real(5)
case("layer_norm", "nn.layer_norm %0, %1, %2 eps 1.0e-3 : TYPES", [x, w, b],
     list(torch.native_layer_norm(x, (5,), w, b, 1e-3)[:1]) +
     [x.mean(-1), torch.rsqrt(x.var(-1, unbiased=False) + 1e-3)])
case("rms_norm", "nn.rms_norm %0, %1 eps 1.0e-3 : TYPES", [x, w],
     [F.rms_norm(x, (5,), w, 1e-3), torch.rsqrt(x.square().mean(-1) + 1e-3)])
case("softmax", "nn.softmax %0 : TYPE", [x * 300], [torch.softmax(x * 300, -1)])
case("gelu_exact", "nn.gelu exact %0 : TYPE", [x], [F.gelu(x)])
case("gelu_tanh", "nn.gelu tanh %0 : TYPE", [x], [F.gelu(x, approximate="tanh")])
case("silu", "nn.silu %0 : TYPE", [x], [F.silu(x)])

ids, table = torch.tensor([[2, 0], [2, 3]]), real(4, 3)
case("embedding", "nn.embedding %0, %1 : TYPES", [ids, table],
     [F.embedding(ids, table)])
logits, targets = real(2, 2, 4) * 100, torch.tensor([[1, -100], [3, 0]])
case("cross_entropy", "nn.cross_entropy %0, %1 : TYPES", [logits, targets],
     [F.cross_entropy(logits.reshape(-1, 4), targets.reshape(-1)),
      torch.logsumexp(logits, -1)])

x = real(2, 3, 4)
case("reduce_sum", "nn.reduce sum %0 dims [0, 2] : TYPES", [x], [x.sum((0, 2))])
case("reduce_max", "nn.reduce max %0 dims [1] : TYPES", [x], [x.amax(1)])
case("reduce_mean", "nn.reduce mean %0 dims [0, 1, 2] : TYPES", [x], [x.mean()])
case("transpose", "nn.transpose %0 permutation [2, 0, 1] : TYPES", [x],
     [x.permute(2, 0, 1).contiguous()])
case("split", "nn.split %0 dim 2 sizes [1, 3] : TYPES", [x],
     [y.contiguous() for y in x.split([1, 3], 2)])
case("broadcast", "nn.broadcast %0 dims [0, 2] : TYPES", [x[0]],
     [x[0][:, None, :].expand(3, 2, 4).contiguous()])
case("pad", "tensor.pad %0 low[1, 0] high[0, 2] {\n  ^bb0(%i: index, %j: index):\n"
     "    %p = arith.constant 0.5 : f64\n    tensor.yield %p : f64\n  } : "
     "tensor<3x4xf64> to tensor<4x6xf64>", [x[0]], [F.pad(x[0], (0, 2, 1, 0), value=0.5)])
case("extract_slice", "tensor.extract_slice %0[1, 0] [1, 2] [1, 3] : "
     "tensor<3x4xf64> to tensor<2xf64>", [x[0]], [x[0][1, ::3].contiguous()])
case("gather", "tensor.gather %0[%1] gather_dims([1]) : (tensor<3x4xf64>, "
     "tensor<3x1xi32>) -> tensor<3x3xf64>",
     [x[0], torch.tensor([[3], [0], [3]])], [x[0][:, [3, 0, 3]].T.contiguous()])
case("log1p", "math.log1p %0 : TYPE", [x.abs()], [torch.log1p(x.abs())])
case("erf", "math.erf %0 : TYPE", [x], [torch.erf(x)])
case("rsqrt", "math.rsqrt %0 : TYPE", [x.abs()], [torch.rsqrt(x.abs())])

print(json.dumps({"torch": torch.__version__, "cases": cases}, indent=None,
                 separators=(",", ":")).replace('{"name"', '\n{"name"'), file=sys.stdout)
