"""What torch.export says of a module that it cannot trace, in words of the model."""

from __future__ import annotations

from torch._dynamo.exc import UncapturedHigherOrderOpError
from torch._subclasses.fake_tensor import DynamicOutputShapeException
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

# How PyTorch says that a graph has no name for a tensor that forward has computed.
FAKE_CONSTANT = "found a fake tensor in the exported program constant's list"


def untraceable(error: Exception) -> str:
    """Why a module has no graph."""
    text = "torch.export cannot trace the model: "
    if isinstance(error, GuardOnDataDependentSymNode):
        return text + (
            "what happens here depends on the values of a tensor: a branch, `.item()`, or how many "
            "elements a mask takes. Choose between tensors of all elements with torch.where, or "
            "leave the check out"
        )
    if isinstance(error, DynamicOutputShapeException):
        return text + (
            f"{error.func} gives a tensor whose shape depends on values, as far as a trace knows: "
            "write what it computes in operations whose shapes follow from those of their operands"
        )
    if isinstance(error, UncapturedHigherOrderOpError):
        return text + (
            "zero has no torch.cond and no loops of values (while_loop, scan, map): compute both "
            "branches and choose with torch.where, or write the loop in Python"
        )
    first = (str(error).strip().splitlines() or [""])[0]
    if FAKE_CONSTANT in first:
        return text + (
            "forward uses a tensor's `.data`, or one that it keeps from elsewhere: "
            "use x.detach(), which is traced"
        )
    return text + (
        f"{type(error).__name__}: {first}. A loss must be one graph of tensors with static "
        "shapes: no branch on values, no `use_reentrant=True` checkpoints"
    )
