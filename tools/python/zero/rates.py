"""Learning rates that a caller gives."""

from __future__ import annotations

import ctypes
from numbers import Real
from typing import Any, Mapping

import numpy

from zero.arrays import number_in
from zero.errors import ArgumentError
from zero.library import GroupRate

LARGEST = float(numpy.finfo(numpy.float32).max)


def rate_of(rate: Any) -> float:
    """A learning rate as the runtime takes it: below 0 for None, the schedule's."""
    rate = number_in(rate)
    if rate is None:
        return -1.0
    if not isinstance(rate, Real) or isinstance(rate, bool) or not 0 <= rate <= LARGEST:
        raise ArgumentError(
            f"the learning rate is {rate!r}, wanted a number from 0 to {LARGEST:.3g}, the "
            "largest of f32"
        )
    return float(rate)


def rates_of(rates: Mapping[str, Any]) -> ctypes.Array:
    """Those of parameter groups, by name."""
    for group in rates:
        if not isinstance(group, str):
            raise ArgumentError(
                f"{group!r} is a {type(group).__name__}, wanted the name of a parameter group"
            )
    given = [GroupRate(group.encode(), rate_of(rate)) for group, rate in rates.items()]
    return (GroupRate * len(given))(*given)
