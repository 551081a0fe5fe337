"""Inverses, determinants and factors of small matrices, row by row."""

from __future__ import annotations

import math

import torch

from zero.importer.builder import Builder
from zero.importer.convert.arithmetic import signs
from zero.importer.convert.products import product
from zero.importer.convert.registry import converts
from zero.importer.convert.scans import prod
from zero.importer.errors import CannotImport
from zero.importer.ir import Value

# Each row is a few operations of the program.
LARGEST = 32


def size_of(x: Value, what: str) -> int:
    """The rows of a small matrix, or of a stack of them."""
    rows = x.shape[-1]
    if rows > LARGEST:
        raise CannotImport(
            f"{what} of matrices of {rows} rows: wanted at most {LARGEST}, since each row is "
            "operations of its own; compute it outside of the model"
        )
    return rows


def row(b: Builder, x: Value, i: int) -> Value:
    return b.narrow(x, x.rank - 2, i, 1)


def column(b: Builder, x: Value, j: int, first: int = 0) -> Value:
    """Column j, from a row on."""
    part = b.narrow(x, x.rank - 1, j, 1)
    return b.narrow(part, x.rank - 2, first, x.shape[-2] - first)


def with_row(b: Builder, x: Value, i: int, value: Value) -> Value:
    dim, rows = x.rank - 2, x.shape[-2]
    parts = [b.narrow(x, dim, 0, i)] if i else []
    parts.append(value)
    parts += [b.narrow(x, dim, i + 1, rows - i - 1)] if i + 1 < rows else []
    return b.concat(parts, dim)


def identity(b: Builder, x: Value) -> Value:
    n = x.shape[-1]
    return b.constant(torch.eye(n, dtype=x.dtype).expand(x.shape))


class Eliminated:
    """A matrix by elimination, of which each step takes the row whose element is the largest.
    Nothing has a gradient."""

    def __init__(self, b: Builder, x: Value):
        n, lead = size_of(x, "an inverse"), x.shape[:-2]
        x = b.stop(x)
        table = b.concat([x, identity(b, x)], x.rank - 1)
        sign, heads = b.fill((*lead, 1, 1), 1.0, x.dtype), []
        for i in range(n):
            table, turned = pivoted(b, table, i)
            head = column(b, row(b, table, i), i)
            sign = b.times(sign, turned)
            heads.append(head)
            # A head of 0 is one of a singular matrix; the rest stays finite.
            divisor = b.select(b.compare("eq", head, 0), b.like(head, 1), head)
            scaled = b.over(row(b, table, i), divisor)
            table = with_row(b, b.minus(table, b.times(column(b, table, i), scaled)), i, scaled)
        self.sign = b.reshape(sign, lead)
        # What the product of is the determinant, up to its sign.
        self.heads = b.reshape(b.concat(heads, x.rank - 2), (*lead, n))
        smallest = b.reduce("max", b.negative(b.unary("math.absf", self.heads)), [len(lead)])
        self.singular = b.compare("eq", smallest, 0)
        # The inverse; of a singular matrix it is numbers without a meaning.
        self.inverse = b.narrow(table, x.rank - 1, n, n)


def pivoted(b: Builder, table: Value, i: int) -> tuple[Value, Value]:
    """Row i changed for the one below whose element i is the largest, and -1 where that
    is another one."""
    n, dim = table.shape[-2], table.rank - 2
    sizes = b.unary("math.absf", column(b, table, i, i))
    flat = b.reshape(sizes, (*table.shape[:-2], n - i))
    place = b.plus(b.argsort(flat, True, 1), i)
    place = b.reshape(place, (*table.shape[:-2], 1, 1))
    here = b.compare("eq", b.positions((*table.shape[:-1], 1), dim), place)
    marks = b.cast(here, table.dtype)
    best = b.reduce("sum", b.times(table, marks), [dim], keep=True)
    swapped = b.select(here, row(b, table, i), table)
    same = b.compare("eq", place, i)
    one = b.fill(place.shape, 1.0, table.dtype)
    return with_row(b, swapped, i, best), b.select(same, one, b.negative(one))


def inverse_of(b: Builder, x: Value) -> Value:
    """y (2 - x y), a step of Newton's method from the inverse y: the inverse again, with
    its gradient. A singular matrix, which PyTorch refuses as it runs, has NaN."""
    found = Eliminated(b, x)
    singular = b.reshape(found.singular, (*x.shape[:-2], 1, 1))
    y = b.select(singular, b.like(x, math.nan), found.inverse)
    rest = b.minus(b.times(identity(b, x), 2.0), b.matmul(x, y))
    return b.matmul(y, rest)


@converts("aten.linalg_inv.default", "aten.inverse.default", to="elimination, nn.matmul")
def inverse(b: Builder, A=None, self=None):
    return inverse_of(b, A or self)


@converts("aten.linalg_inv_ex.default", to="elimination, nn.matmul")
def inverse_unchecked(b: Builder, A):
    return [inverse_of(b, A), None]


@converts("aten.linalg_solve.default", to="elimination, nn.matmul")
def solve(b: Builder, A, B, left=True):
    y = inverse_of(b, A)
    if B.rank == 1 or B.shape == A.shape[:-1]:
        columns = product(b, y, b.reshape(B, (*B.shape, 1)))
        return b.reshape(columns, columns.shape[:-1])
    return product(b, y, B) if left else product(b, B, y)


@converts("aten.linalg_solve_ex.default", to="elimination, nn.matmul")
def solve_unchecked(b: Builder, A, B, left=True):
    return [solve(b, A, B, left), None]


@converts("aten._linalg_det.default", to="elimination")
def determinant(b: Builder, A):
    """Its gradient is that of the determinant times the trace of y (x - x), of the
    inverse y; like PyTorch's it is 0 where the matrix is singular."""
    found = Eliminated(b, A)
    value = b.times(prod(b, found.heads, found.heads.rank - 1), found.sign)
    return [b.plus(value, b.times(value, change(b, A, found.inverse))), None, None]


@converts("aten._linalg_slogdet.default", to="elimination")
def sign_and_logarithm(b: Builder, A):
    """A singular matrix has 0 and -inf. The gradient is then NaN, where PyTorch's has
    infinities as well."""
    found = Eliminated(b, A)
    last = found.heads.rank - 1
    sign = b.times(found.sign, prod(b, signs(b, found.heads), last))
    logarithms = b.unary("math.log", b.unary("math.absf", found.heads))
    rest = change(b, A, found.inverse)
    nothing = b.times(b.times(rest, rest), 0.0)
    below_all = b.unary("math.log", b.select(found.singular, nothing, b.like(rest, 1)))
    logarithm = b.plus(b.reduce("sum", logarithms, [last]), rest)
    return [sign, b.select(found.singular, below_all, logarithm), None, None]


def change(b: Builder, x: Value, y: Value) -> Value:
    """0, whose gradient is that of log(det(x)): the trace of y (x - x)."""
    rest = b.times(b.slope(x), b.swap(y, y.rank - 2, y.rank - 1))
    return b.reduce("sum", rest, [x.rank - 2, x.rank - 1])


@converts("aten.linalg_solve_triangular.default", to="substitution, row by row")
def solve_triangular(b: Builder, self, B, upper, left=True, unitriangular=False):
    if not left:
        x = b.swap(self, self.rank - 2, self.rank - 1)
        y = b.swap(B, B.rank - 2, B.rank - 1)
        z = solve_triangular(b, x, y, not upper, True, unitriangular)
        return b.swap(z, z.rank - 2, z.rank - 1)
    n = size_of(self, "a triangular solve")
    lead = tuple(torch.broadcast_shapes(self.shape[:-2], B.shape[:-2]))
    x, y = b.broadcast(self, lead + self.shape[-2:]), b.broadcast(B, lead + B.shape[-2:])
    done: dict[int, Value] = {}
    for i in reversed(range(n)) if upper else range(n):
        value = row(b, y, i)
        for j, other in done.items():
            value = b.minus(value, b.times(column(b, row(b, x, i), j), other))
        done[i] = value if unitriangular else b.over(value, column(b, row(b, x, i), i))
    return b.concat([done[i] for i in range(n)], y.rank - 2)


@converts("aten.linalg_cholesky_ex.default", to="columns, one by one")
def cholesky_unchecked(b: Builder, self, upper=False):
    return [cholesky(b, self, upper), None]


@converts("aten.linalg_cholesky.default", to="columns, one by one")
def cholesky(b: Builder, self, upper=False):
    """Column j is what the columns before it leave of the matrix, divided by the root of
    its head."""
    n = size_of(self, "a Cholesky factor")
    x = symmetric(b, b.swap(self, self.rank - 2, self.rank - 1) if upper else self)
    columns = []
    for j in range(n):
        rest = column(b, x, j, 0)
        for done in columns:
            rest = b.minus(rest, b.times(done, row(b, done, j)))
        whole = b.over(rest, b.unary("math.sqrt", row(b, rest, j)))
        below = torch.arange(n)[:, None] >= j
        columns.append(b.select(b.constant(below), whole, b.like(whole, 0)))
    y = b.concat(columns, x.rank - 1)
    return b.swap(y, y.rank - 2, y.rank - 1) if upper else y


def symmetric(b: Builder, x: Value) -> Value:
    """The lower triangle, mirrored: PyTorch reads no more of the matrix, and gives both
    halves the same gradient."""
    below = torch.ones(x.shape[-2:], dtype=torch.bool).tril()
    fixed = b.stop(x)
    value = b.select(b.constant(below), fixed, b.swap(fixed, x.rank - 2, x.rank - 1))
    rest = b.slope(x)
    return b.plus(value, b.times(b.plus(rest, b.swap(rest, x.rank - 2, x.rank - 1)), 0.5))
