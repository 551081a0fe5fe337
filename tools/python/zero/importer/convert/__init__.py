"""One function for each operation of PyTorch that can be imported."""

from zero.importer.convert import (  # noqa: F401 (each registers its converters)
    activations,
    arithmetic,
    attention,
    comparisons,
    conversions,
    convolutions,
    experts,
    factors,
    fused,
    inverses,
    lookups,
    losses,
    normalization,
    ordering,
    pooling,
    products,
    random,
    reductions,
    resizing,
    scans,
    scatters,
    shapes,
    special,
)
from zero.importer.convert.registry import CONVERTERS, Converter, convert_node

__all__ = ["CONVERTERS", "Converter", "convert_node"]
