"""Matrix products."""

from __future__ import annotations

import math
import string

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.convert.scatters import diagonal
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


@converts("aten.linear.default", to="nn.linear transposed")
def linear(b: Builder, input, weight, bias=None):
    if weight.rank != 2:
        raise CannotImport(f"a linear layer whose weight has {weight.rank} dimensions")
    return b.linear(input, weight, bias, transposed=True)


@converts("aten.addmm.default", to="nn.linear")
def addmm(b: Builder, self, mat1, mat2, beta=1, alpha=1):
    if self.rank == 1 and beta == alpha == 1:
        return b.linear(mat1, mat2, self, transposed=False)
    return added(b, b.linear(mat1, mat2, None, transposed=False), self, beta, alpha)


def added(b: Builder, x: Value, y: Value, beta: float, alpha: float) -> Value:
    """alpha x + beta y; where beta is 0, y is not looked at."""
    x = x if alpha == 1 else b.times(x, alpha)
    if beta == 0:
        return x
    return b.plus(x, y if beta == 1 else b.times(y, beta))


@converts("aten.addmv.default", to="nn.linear and additions")
def addmv(b: Builder, self, mat, vec, beta=1, alpha=1):
    return added(b, product(b, mat, vec), self, beta, alpha)


@converts("aten.addbmm.default", to="nn.matmul, nn.reduce sum and additions")
def addbmm(b: Builder, self, batch1, batch2, beta=1, alpha=1):
    return added(b, b.reduce("sum", b.matmul(batch1, batch2), [0]), self, beta, alpha)


@converts("aten.mm.default", to="nn.linear")
def mm(b: Builder, self, mat2):
    return product(b, self, mat2)


@converts("aten.matmul.default", "aten.bmm.default", to="nn.linear, nn.matmul")
def matmul(b: Builder, self, other=None, mat2=None):
    return product(b, self, mat2 if mat2 is not None else other)


@converts("aten.mv.default", "aten.dot.default", to="nn.linear")
def vector_product(b: Builder, self, vec=None, tensor=None):
    return product(b, self, vec if vec is not None else tensor)


@converts("aten.outer.default", to="arith.mulf")
def outer(b: Builder, self, vec2):
    return b.times(b.reshape(self, self.shape + (1,)), vec2)


@converts("aten.baddbmm.default", to="nn.matmul and additions")
def baddbmm(b: Builder, self, batch1, batch2, beta=1, alpha=1):
    return added(b, b.matmul(batch1, batch2), self, beta, alpha)


def product(b: Builder, x: Value, y: Value) -> Value:
    """`torch.matmul` of any ranks."""
    if x.rank == 0 or y.rank == 0:
        raise CannotImport("a matrix product of a scalar")
    if y.rank == 1:
        column = product(b, x, b.reshape(y, (y.shape[0], 1)))
        return b.reshape(column, x.shape[:-1])
    if x.rank == 1:
        row = product(b, b.reshape(x, (1, x.shape[0])), y)
        return b.reshape(row, y.shape[:-2] + y.shape[-1:])
    if y.op and y.op.kind == "nn.transpose":
        # y is stored the other way round: multiply by what is stored.
        order = y.op.attributes["permutation"]
        swapped = list(range(y.rank - 2)) + [y.rank - 1, y.rank - 2]
        if order == swapped:
            stored = y.op.operands[0]
            if y.rank == 2:
                return b.linear(x, stored, None, transposed=True)
            return b.matmul(x, stored, transpose_b=True)
    if y.rank == 2:
        return b.linear(x, y, None, transposed=False)
    return b.matmul(x, y)


@converts("aten.einsum.default", to="nn.transpose, nn.matmul, nn.reduce")
def einsum(b: Builder, equation, tensors, path=None):
    values = list(tensors)
    terms, target = spelled(equation, values)
    sizes: dict[str, int] = {}
    terms, values = map(list, zip(*(on_diagonals(b, *pair) for pair in zip(terms, values))))
    for term, value in zip(terms, values):
        for letter, size in zip(term, value.shape):
            if sizes.setdefault(letter, size) != size:
                raise CannotImport(f"einsum '{equation}' with different sizes of one index")
    # From left to right, which is PyTorch's order, too.
    while len(terms) > 1:
        later = "".join(terms[2:]) + target
        kept = "".join(dict.fromkeys(letter for letter in terms[0] + terms[1] if letter in later))
        wanted = kept if len(terms) > 2 else target
        values = [contract(b, values[:2], terms[:2], wanted, sizes), *values[2:]]
        terms = [wanted, *terms[2:]]
    return arrange(b, sum_missing(b, values[0], terms[0], target), terms[0], target)


def on_diagonals(b: Builder, term: str, value: Value) -> tuple[str, Value]:
    """The elements at which the places of an index that a tensor has twice agree."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first, second = term.index(letter), term.rindex(letter)
            value = diagonal(b, value, 0, first, second)
            term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter
    return term, value


@converts("aten.bilinear.default", to="nn.linear, nn.matmul")
def bilinear(b: Builder, input1, input2, weight, bias=None):
    y = einsum(b, "...i,oij,...j->...o", [input1, weight, input2])
    return y if bias is None else b.plus(y, bias)


def spelled(equation: str, values: list[Value]) -> tuple[list[str], str]:
    """The indices of each tensor and of the result, with letters for '...' and a
    result where none is written."""
    left, arrow, target = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    free = [letter for letter in string.ascii_letters if letter not in equation]
    hidden = [
        v.rank - len(t.replace("...", "")) if "..." in t else 0 for t, v in zip(terms, values)
    ]
    most = "".join(free[: max(hidden)])
    # Where tensors differ in them, the last of the hidden dimensions agree.
    terms = [t.replace("...", most[len(most) - n :]) for t, n in zip(terms, hidden)]
    if arrow:
        return terms, target.replace("...", most)
    letters = "".join(terms)
    once = sorted(c for c in set(letters) if letters.count(c) == 1 and c not in most)
    return terms, most + "".join(once)


def sum_missing(b: Builder, x: Value, term: str, wanted: str) -> Value:
    return b.reduce("sum", x, [i for i, letter in enumerate(term) if letter not in wanted])


def arrange(b: Builder, x: Value, term: str, target: str) -> Value:
    """`x`, whose dimensions are the letters of `term` that are in `target`, in the
    target's order."""
    term = "".join(letter for letter in term if letter in target)
    return b.transpose(x, [term.index(letter) for letter in target])


def contract(b: Builder, values, terms, target, sizes) -> Value:
    """A product of two tensors as a stack of matrix products."""
    first, second = terms
    x = sum_missing(b, values[0], first, second + target)
    y = sum_missing(b, values[1], second, first + target)
    first = "".join(letter for letter in first if letter in second + target)
    second = "".join(letter for letter in second if letter in first + target)
    batch = [l for l in first if l in second and l in target]
    inner = [l for l in first if l in second and l not in target]
    rows = [l for l in first if l not in second]
    columns = [l for l in second if l not in first]

    def count(letters) -> int:
        return math.prod(sizes[letter] for letter in letters)

    x = b.transpose(x, [first.index(l) for l in batch + rows + inner])
    y = b.transpose(y, [second.index(l) for l in batch + inner + columns])
    x = b.reshape(x, (count(batch), count(rows), count(inner)))
    y = b.reshape(y, (count(batch), count(inner), count(columns)))
    result = "".join(batch + rows + columns)
    z = b.reshape(b.matmul(x, y), [sizes[letter] for letter in result])
    return b.transpose(z, [result.index(letter) for letter in target])
