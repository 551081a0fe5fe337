"""Checks of values that forward makes, which are no part of what it computes.

`assert lengths.max() <= size`, and an `if` that does nothing but say something and raise, are
taken to pass: a trace has no values to look at.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import sys
import traceback
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Iterator

import torch
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from zero.importer.errors import CannotImport, Place
from zero.importer.places import PACKAGE, TORCH, place_of_frames

# PyTorch's own code that checks values.
CHECKING = (
    os.path.join(TORCH, "distributions") + os.sep,
    os.path.join(TORCH, "nn", "functional.py"),
)
# What tries whether a condition can be told, and goes on where it cannot.
TRYING = tuple(os.path.join(TORCH, name) + os.sep for name in ("_higher_order_ops", "distributed"))
# Contexts that an exception leaves; of others it is not known.
LEAVES = {
    *("no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "autocast"),
    *("maybe_autocast", "sdpa_kernel", "record_function", "nullcontext", "catch_warnings"),
}
# Beyond are the frames of whoever imports the model.
MODEL_IS_CALLED_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "capture.py")


@contextmanager
def checks_passed() -> Iterator[None]:
    """Has conditions of checks come out as they do where the check passes. Raises CannotImport
    where forward has caught what the trace raises of other conditions."""
    guard = SymNode.guard_bool
    raised = GuardOnDataDependentSymNode.__init__
    caught: list[Place | None] = []

    @functools.wraps(raised)
    def noted(self, *words):
        stack = traceback.extract_stack()
        if not any(frame.filename.startswith(TRYING) for frame in stack):
            caught.append(place_of_frames(stack))
        raised(self, *words)

    @functools.wraps(guard)
    def guarded(self, file, line):
        before = len(caught)
        try:
            return guard(self, file, line)
        except GuardOnDataDependentSymNode:
            passing = passing_value(sys._getframe(1))
            if passing is None:
                raise
            del caught[before:]
            return passing

    SymNode.guard_bool, GuardOnDataDependentSymNode.__init__ = guarded, noted
    try:
        yield
    finally:
        SymNode.guard_bool, GuardOnDataDependentSymNode.__init__ = guard, raised
    if caught:
        raise CannotImport(
            "what Python does here depends on the values of a tensor, and forward catches what "
            "the trace says of it: choose between tensors with torch.where",
            caught[0],
        )


def frames_of_model(frame: FrameType | None) -> Iterator[FrameType]:
    """Those of the model that the frame is called from, the innermost first."""
    while frame is not None and frame.f_code.co_filename != MODEL_IS_CALLED_IN:
        file = frame.f_code.co_filename
        if file.startswith(CHECKING) or not file.startswith((TORCH, PACKAGE)):
            yield frame
        frame = frame.f_back


def passing_value(frame: FrameType | None) -> bool | None:
    """The value of what the innermost frame of the model asks for with which its check
    passes; None where it is no check, or where the model goes on when it fails."""
    passing = None
    for outer in frames_of_model(frame):
        checks = _checks_of(outer.f_code.co_filename)
        if passing is None:
            passing = checks.passing.get(outer.f_lineno)
        if passing is None or outer.f_lineno in checks.caught:
            return None
    return passing


@dataclass
class Checks:
    """Of a file, by line: the passing values of checks, and where what is raised is caught."""

    passing: dict[int, bool] = field(default_factory=dict)
    caught: set[int] = field(default_factory=set)


@functools.lru_cache(maxsize=64)
def _checks_of(file: str) -> Checks:
    found = Checks()
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return found
    for node in ast.walk(tree):
        if _catches(node):
            for statement in node.body:
                found.caught.update(_lines(statement, statement))
        passing = _passing(node)
        if passing is not None:
            found.passing.update(dict.fromkeys(_lines(node, node.test), passing))
    return found


def _lines(first: ast.AST, last: ast.AST) -> range:
    return range(first.lineno, (last.end_lineno or last.lineno) + 1)


def _catches(node: ast.AST) -> bool:
    """Whether what is raised in the node's body may end there."""
    if isinstance(node, (ast.Try, getattr(ast, "TryStar", ast.Try))):
        ends = (ast.Return, ast.Break, ast.Continue)
        at_the_end = (inner for last in node.finalbody for inner in ast.walk(last))
        return bool(node.handlers) or any(isinstance(inner, ends) for inner in at_the_end)
    return isinstance(node, ast.With) and not {_name(item) for item in node.items} <= LEAVES


def _name(item: ast.withitem) -> str:
    entered = item.context_expr
    called = entered.func if isinstance(entered, ast.Call) else entered
    return getattr(called, "attr", getattr(called, "id", ""))


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call)


def _passing(statement: ast.AST) -> bool | None:
    """The value of each condition in the statement's test with which nothing is raised; None
    where it is no check, or something else depends on a condition."""
    if isinstance(statement, ast.Assert):
        passing = True
    elif isinstance(statement, ast.If) and not statement.orelse:
        *before, last = statement.body
        if not isinstance(last, ast.Raise) or not all(isinstance(s, ast.Expr) for s in before):
            return None
        passing = False
    else:
        return None
    test = statement.test
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        passing, test = not passing, test.operand
    return None if any(map(_turns, ast.walk(test))) else passing


def _turns(node: ast.AST) -> bool:
    """Whether more depends on a condition inside than that the test holds."""
    if isinstance(node, ast.Compare):
        return any(map(_is_bool, (node.left, *node.comparators)))
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_not or isinstance(node, (ast.NamedExpr, ast.IfExp))


def _is_bool(node: ast.AST) -> bool:
    return _is_call(node) and getattr(node.func, "id", "") == "bool"
