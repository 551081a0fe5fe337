"""Operations of a traced graph that only the importer knows: what becomes of a gradient,
and what forward keeps."""

from __future__ import annotations

import torch

library = torch.library.Library("zero_importer", "DEF")


def define(schema: str, name: str) -> torch._ops.OpOverload:
    """An operation whose value is that of its first operand."""
    library.define(f"{name}{schema}")
    library.impl(name, lambda x, *rest: x.clone(), "CompositeExplicitAutograd")
    library.impl(name, lambda x, *rest: torch.empty_like(x), "Meta")
    return getattr(torch.ops.zero_importer, name).default


# Gradients end here.
STOP = define("(Tensor x) -> Tensor", "stop_gradient")

# Gradients go through hook number `index`, which multiplies them by `factor`.
HOOKED = define("(Tensor x, int index, Tensor? factor=None) -> Tensor", "hooked")

# What forward assigns, by the number of the change.
KEPT = define("(Tensor x, int index) -> Tensor", "kept")

# What the step before assigned, by the number of its mark; `x` has its shape and type.
GIVEN = define("(Tensor x, int index) -> Tensor", "given")

# Dropout for SELU, of whole `channels` or of elements, which PyTorch takes apart whatever
# its table of decompositions says.
ALPHA_DROPOUT = define("(Tensor x, float p, bool channels) -> Tensor", "alpha_dropout")

# Nothing uses their results where they are traced.
torch.fx.node.has_side_effect(HOOKED)
torch.fx.node.has_side_effect(KEPT)
