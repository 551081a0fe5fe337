"""What is computed in float64: elements one by one, and what only moves them."""

from __future__ import annotations

from typing import Sequence

import torch

from zero.importer.errors import CannotImport
from zero.importer.ir import Operation, Value

# Operations of `nn` with kernels for f64.
COMPUTED = (
    "nn.broadcast",
    "nn.embedding",
    "nn.gather",
    "nn.gelu",
    "nn.scatter",
    "nn.silu",
    "nn.split",
    "nn.stop_gradient",
    "nn.transpose",
)

# Those of them whose gradients are sums, which have none.
SUMMED = {
    "nn.broadcast": "what is broadcast",
    "nn.embedding": "what is looked up",
    "nn.gather": "what is gathered",
}

# What others are, as messages call it.
NAMES = {
    "nn.argsort": "sorting",
    "nn.attention": "attention",
    "nn.avg_pool": "pooling",
    "nn.batch_norm": "a batch norm",
    "nn.conv": "a convolution",
    "nn.conv_transpose": "a transposed convolution",
    "nn.cross_entropy": "cross entropy",
    "nn.cumsum": "a cumulative sum",
    "nn.dropout": "dropout",
    "nn.grouped_matmul": "a matrix product",
    "nn.layer_norm": "a normalization",
    "nn.linear": "a matrix product",
    "nn.matmul": "a matrix product",
    "nn.max_pool": "pooling",
    "nn.reduce": "a sum, a mean or a maximum",
    "nn.rms_norm": "a normalization",
    "nn.rotary": "a rotary embedding",
    "nn.scatter_add": "a sum of what is scattered",
    "nn.softmax": "softmax",
}


def refuse_doubles(operations: Sequence[Operation], loss: Value) -> None:
    """Throws at what has no kernel for f64, or whose gradient has none."""
    followed = differentiated(operations, loss)
    for operation in operations:
        kind, values = operation.kind, [*operation.operands, *operation.results]
        if not kind.startswith("nn.") or all(value.dtype != torch.float64 for value in values):
            continue
        if kind.startswith("nn.random_"):
            refuse(operation, "random numbers in float64", "draw them in float32")
        if kind not in COMPUTED:
            what = f"{NAMES.get(kind, kind)} in float64"
            refuse(operation, what, "convert the operands with .float()")
        if kind in SUMMED and operation in followed:
            what = f"the gradient of {SUMMED[kind]} in float64, which is a sum"
            refuse(operation, what, "convert the operands with .float()")


def refuse(operation: Operation, what: str, cure: str) -> None:
    raise CannotImport(
        f"{what}: only arithmetic on elements is computed in float64, and all else in float32 "
        f"or in 16 bits; {cure}",
        operation.place,
    )


def differentiated(operations: Sequence[Operation], loss: Value) -> set[Operation]:
    """The operations that the loss has a gradient of."""
    found, reached = set(), {loss}
    for operation in reversed(operations):
        if any(value in reached and value.trained for value in operation.results):
            found.add(operation)
            reached.update(value for value in operation.operands if value.trained)
    return found
