"""Finds what is written out in a graph and has one operation in zero."""

from __future__ import annotations

from zero.importer.captured import Captured
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


def recognize(captured: Captured) -> None:
    """Rewrites the graph. What it replaces stays, unused."""
    for rewrite in RECOGNIZERS:
        rewrite(captured)
