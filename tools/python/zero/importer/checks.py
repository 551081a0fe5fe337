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
from contextlib import contextmanager
from types import FrameType
from typing import Iterator

import torch
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from zero.importer.places import PACKAGE, TORCH

# Of PyTorch's own code, what checks the arguments of distributions.
DISTRIBUTIONS = os.path.join(TORCH, "distributions") + os.sep


@contextmanager
def checks_passed() -> Iterator[None]:
    """Has conditions of checks come out as they do where the check passes."""
    guard = SymNode.guard_bool

    @functools.wraps(guard)
    def guarded(self, file, line):
        try:
            return guard(self, file, line)
        except GuardOnDataDependentSymNode:
            passing = passing_value(sys._getframe(1))
            if passing is None:
                raise
            return passing

    SymNode.guard_bool = guarded
    try:
        yield
    finally:
        SymNode.guard_bool = guard


def passing_value(frame: FrameType | None) -> bool | None:
    """The value of what the innermost frame of the model asks for with which its check
    passes; None where it is no check."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(DISTRIBUTIONS) or not file.startswith((TORCH, PACKAGE)):
            return _checks_of(file).get(frame.f_lineno)
        frame = frame.f_back
    return None


@functools.lru_cache(maxsize=64)
def _checks_of(file: str) -> dict[int, bool]:
    """By line, the passing value of each of the file's checks."""
    found: dict[int, bool] = {}
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return found
    caught = {
        id(inner)
        for block in ast.walk(tree)
        if isinstance(block, ast.Try) and block.handlers
        for statement in block.body
        for inner in ast.walk(statement)
    }
    for statement in ast.walk(tree):
        passing = None if id(statement) in caught else _passing(statement)
        if passing is not None:
            test = statement.test
            last = test.end_lineno or test.lineno
            found.update(dict.fromkeys(range(statement.lineno, last + 1), passing))
    return found


def _passing(statement: ast.AST) -> bool | None:
    """The value of each condition in the statement's test with which nothing is raised. A
    condition that is negated within others has none."""
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
    negated = (isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not) for n in ast.walk(test))
    return None if any(negated) else passing
