"""What is computed with factors of small matrices, and factors that are orthogonal."""

from __future__ import annotations

import torch

from zero.importer.builder import Builder
from zero.importer.convert.inverses import (
    LARGEST,
    column,
    identity,
    row,
    solve_triangular,
)
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


def mirrored(b: Builder, x: Value) -> Value:
    return b.swap(x, x.rank - 2, x.rank - 1)


def triangle(b: Builder, x: Value, upper: bool) -> Value:
    kept = torch.ones(x.shape[-2:], dtype=torch.bool)
    return b.select(b.constant(kept.triu() if upper else kept.tril()), x, b.like(x, 0))


@converts("aten.triangular_solve.default", to="substitution, row by row")
def triangular_solve(b: Builder, self, A, upper=True, transpose=False, unitriangular=False):
    x, above = (mirrored(b, A), not upper) if transpose else (A, upper)
    return [solve_triangular(b, x, self, above, True, unitriangular), A]


def solved(b: Builder, rows: Value, factor: Value, upper: bool) -> Value:
    """The solution x of L L^T x = rows, or of U^T U x = rows. What is solved with has no
    gradient; that of the rest of the equation, which is 0, is the solution's. As PyTorch has
    it, that is the whole factor's, with the elements that the solution does not read."""
    low = mirrored(b, factor) if upper else factor
    fixed, right = b.stop(low), b.stop(rows)

    def solve(y: Value) -> Value:
        y = solve_triangular(b, fixed, y, upper=False)
        return solve_triangular(b, mirrored(b, fixed), y, upper=True)

    def multiply(x: Value, y: Value) -> Value:
        return b.matmul(x, b.matmul(mirrored(b, x), y))

    found = solve(right)
    rest = b.minus(rows, multiply(triangle(b, fixed, upper=False), found))
    return b.plus(found, solve(b.minus(rest, b.slope(multiply(low, found)))))


@converts("aten.cholesky_solve.default", to="substitution, row by row, nn.matmul")
def cholesky_solve(b: Builder, self, input2, upper=False):
    lead = tuple(torch.broadcast_shapes(self.shape[:-2], input2.shape[:-2]))
    rows = b.broadcast(self, lead + self.shape[-2:])
    return solved(b, rows, b.broadcast(input2, lead + input2.shape[-2:]), upper)


@converts("aten.cholesky_inverse.default", to="substitution, row by row, nn.matmul")
def cholesky_inverse(b: Builder, self, upper=False):
    return solved(b, identity(b, self), self, upper)


@converts("aten.linalg_qr.default", to="reflections, column by column, nn.matmul")
def qr(b: Builder, A, mode="reduced"):
    """Of a wide matrix the first columns are factored. One whose columns depend on each
    other has NaN; PyTorch's gradient is then NaN."""
    rows, columns = A.shape[-2:]
    if mode == "r" or (mode == "complete" and rows > columns):
        raise CannotImport(
            f"linalg.qr of a matrix of {rows} rows and {columns} columns with mode = '{mode}', "
            "which has no gradient in PyTorch: use the mode 'reduced'"
        )
    if min(rows, columns) > LARGEST:
        raise CannotImport(
            f"linalg.qr of matrices of {rows} rows and {columns} columns: wanted at most "
            f"{LARGEST} of one of them, since each column is operations of its own; compute it "
            "outside of the model"
        )
    q, r = tall_qr(b, b.narrow(A, A.rank - 1, 0, min(rows, columns)))
    if columns > rows:
        rest = b.narrow(A, A.rank - 1, rows, columns - rows)
        r = b.concat([r, b.matmul(mirrored(b, q), rest)], A.rank - 1)
    return [q, r]


def tall_qr(b: Builder, x: Value) -> tuple[Value, Value]:
    """Both factors without a gradient, and 0 with theirs: with m = q^T dx r^-1, q^T dq is
    what is antisymmetric and has the lower triangle of m, and dr r^-1 is the rest of m."""
    q, r = reflected(b, b.stop(x))
    change = b.slope(x)
    inverse = solve_triangular(b, r, identity(b, r), upper=True)
    m = b.matmul(b.matmul(mirrored(b, q), change), inverse)
    below = b.minus(triangle(b, m, upper=False), b.times(m, identity(b, m)))
    turned = b.minus(below, mirrored(b, below))
    dr = b.matmul(b.minus(m, turned), r)
    dq = b.matmul(b.minus(change, b.matmul(q, dr)), inverse)
    return b.plus(q, dq), b.plus(r, dr)


def reflected(b: Builder, x: Value) -> tuple[Value, Value]:
    """Householder's reflections, each of which leaves a column its head, with the sign that
    LAPACK gives it: a column that is 0 below its head stays."""
    rows, columns, lead = x.shape[-2], x.shape[-1], x.shape[:-2]
    eye = b.constant(torch.eye(rows, dtype=x.dtype).expand(*lead, rows, rows))
    # The columns that become r, and those of the product of all reflections.
    table = b.concat([x, eye], x.rank - 1)
    zero = b.fill((*lead, rows, 1), 0.0, x.dtype)
    for j in range(min(columns, rows - 1)):
        part = b.select(b.constant(torch.arange(rows)[:, None] >= j), column(b, table, j), zero)
        v, factor = reflector(b, part, j)
        moved = b.matmul(b.times(v, factor), b.matmul(mirrored(b, v), table))
        table = b.minus(table, moved)
    r = b.narrow(b.narrow(table, x.rank - 1, 0, columns), x.rank - 2, 0, columns)
    q = mirrored(b, b.narrow(b.narrow(table, x.rank - 1, columns, rows), x.rank - 2, 0, columns))
    return q, triangle(b, r, upper=True)


def reflector(b: Builder, part: Value, j: int) -> tuple[Value, Value]:
    """v and f of the reflection I - f v v^T that leaves a column its head, element j. Above
    it the column is 0. It is divided by its largest element, which changes no reflection:
    squares of large elements are infinite, and those of small ones 0."""
    rows, dim = part.shape[-2], part.rank - 2
    at = torch.arange(rows)[:, None]
    largest = largest_of(b, part)
    part = b.over(part, b.select(b.compare("eq", largest, 0), b.like(largest, 1), largest))
    head = row(b, part, j)
    below = b.select(b.constant(at > j), part, b.like(part, 0))
    flat = b.compare("eq", largest_of(b, below), 0)
    rest = b.reduce("sum", b.times(below, below), [dim], keep=True)
    size = b.unary("math.sqrt", b.plus(b.times(head, head), rest))
    first = b.minus(head, b.select(b.compare("ge", head, 0), b.negative(size), size))
    square = b.select(flat, b.like(rest, 1), b.plus(b.times(first, first), rest))
    factor = b.select(flat, b.like(square, 0), b.over(b.like(square, 2), square))
    return b.select(b.constant(at == j), first, below), factor


def largest_of(b: Builder, x: Value) -> Value:
    """The size of each column's largest element."""
    return b.reduce("max", b.unary("math.absf", x), [x.rank - 2], keep=True)
