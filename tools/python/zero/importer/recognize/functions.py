"""What the rewritten graph calls; only the names and the signatures matter."""

from __future__ import annotations


def rms_norm(x, weight, eps):
    raise NotImplementedError


def gelu(x, form):
    raise NotImplementedError


def silu(x):
    raise NotImplementedError


def silu_mul(gate, up):
    raise NotImplementedError


def rotary(x, theta, interleaved, heads_first):
    raise NotImplementedError


def keep_some(shape, keep):
    """Ones with probability `keep`, zeros otherwise."""
    raise NotImplementedError


def strided(x, places, shape):
    """The elements of `x` at `places`, in `shape`."""
    raise NotImplementedError


def constant():
    """A tensor that a recogniser made; its value is beside the graph."""
    raise NotImplementedError


for _function in (rms_norm, gelu, silu, silu_mul, rotary, keep_some, strided, constant):
    _function.__module__ = "zero.importer.recognize.functions"
