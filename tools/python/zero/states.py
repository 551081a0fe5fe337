"""A state by names, as `Module.state_dict` has it."""

from __future__ import annotations

from typing import Any, Mapping

import numpy

from zero.arrays import as_floats, bytes_of
from zero.checkpoints.digest import digest_of
from zero.described import Tensor
from zero.errors import ArgumentError


def parameters_in(
    state: Mapping[str, Any],
    parameters: Mapping[str, Tensor],
    aliases: Mapping[str, str],
    buffers: Mapping[str, str | None],
    strict: bool,
) -> dict[str, numpy.ndarray]:
    """The values of the `parameters` that the state has, as f32. With `strict` it has all, under
    one or several of their names, and nothing else but `buffers` (as `zero.Model.buffers`).
    Raises ArgumentError."""
    given = {name: value for name, value in state.items() if name not in buffers}
    found = _under_own_names(given, aliases)
    missing = [name for name in parameters if name not in found]
    extra = [name for name in found if name not in parameters]
    if strict and (missing or extra):
        text = "the state does not match the model"
        text += f"; missing: {', '.join(missing)}" if missing else ""
        text += f"; unknown: {', '.join(extra)}" if extra else ""
        raise ArgumentError(text)
    _check_buffers({name: state[name] for name in buffers if name in state}, buffers)
    found = {name: as_floats(name, found[name]) for name in parameters if name in found}
    for name, value in found.items():
        if tuple(numpy.shape(value)) != parameters[name].shape:
            raise ArgumentError(
                f"the parameter '{name}' has shape {list(parameters[name].shape)}; "
                f"found {list(numpy.shape(value))}"
            )
    return found


def set_all(step, values: Mapping[str, numpy.ndarray]) -> None:
    """Sets the parameters of the step, or none of them where one cannot be set: only the
    run knows what the types that it stores can hold."""
    before: dict[str, numpy.ndarray] = {}
    with step._lock:
        try:
            for name, value in values.items():
                before[name] = step.parameter(name)
                step.set_parameter(name, value)
        except BaseException:
            for name, value in before.items():
                step.set_parameter(name, value)
            raise


def _under_own_names(given: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in given.items():
        own = aliases.get(name, name)
        known = found.setdefault(own, value)
        if known is not value and not numpy.array_equal(
            as_floats(own, known), as_floats(name, value)
        ):
            raise ArgumentError(
                f"'{name}' is '{own}', which is given with other values: give one of them"
            )
    return found


def _check_buffers(given: Mapping[str, Any], buffers: Mapping[str, str | None]) -> None:
    for name, value in given.items():
        if buffers[name] not in (None, digest_of(bytes_of(value))):
            raise ArgumentError(
                f"the buffer '{name}' has other values than when the module was imported, and "
                "the step has those as constants: import the module with the new ones"
            )
