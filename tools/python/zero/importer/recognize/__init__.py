"""Finds what is written out in a graph and has one operation in zero."""

from __future__ import annotations

from zero.importer.captured import Captured
from zero.importer.fold import fold
from zero.importer.integers import check_integers
from zero.importer.recognize import (
    activations,
    attention,
    heads,
    norms,
    rotary,
    stochastic,
    strided,
)

RECOGNIZERS = (
    strided.rewrite,
    norms.rewrite,
    activations.rewrite,
    rotary.rewrite,
    attention.rewrite,
    heads.rewrite,
    stochastic.rewrite,
)


def simplify(captured: Captured) -> None:
    """Takes constants out of the graph, refuses numbers that no index may have, and rewrites
    what is recognized. What is replaced stays, unused."""
    fold(captured)
    check_integers(captured)
    for rewrite in RECOGNIZERS:
        rewrite(captured)
