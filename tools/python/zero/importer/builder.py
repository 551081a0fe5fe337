"""Tensor arithmetic in zero's dialects, as converters write it.

Each method is one step of meaning (reshape, broadcast, add) and emits whatever
operations say it. Identities emit nothing: a reshape to the same shape, a
transpose back, a broadcast of what has the shape already.
"""

from __future__ import annotations

import math
from typing import Sequence

import torch

from zero.importer import text
from zero.importer.errors import CannotImport
from zero.importer.ir import Value, conversion, of_operand, of_select, paired, same
from zero.importer.positions import Positions

Shape = tuple[int, ...]

# What a comparison is called for floats and for signed integers. PyTorch's `!=`
# is true where an operand is NaN, its other comparisons are false.
PREDICATES = {
    "eq": ("oeq", "eq"),
    "ne": ("une", "ne"),
    "lt": ("olt", "slt"),
    "le": ("ole", "sle"),
    "gt": ("ogt", "sgt"),
    "ge": ("oge", "sge"),
}

OF_TRUTHS = {"add": "or", "mul": "and", "maximum": "or", "minimum": "and"}


def coarsest_groups(first: Shape, second: Shape) -> list[tuple[list[int], list[int]]]:
    """Cuts both shapes into the shortest runs of dimensions of equal products."""
    groups, i, j = [], 0, 0
    while i < len(first) or j < len(second):
        left, right = [], []
        if i < len(first):
            left, i = [i], i + 1
        if j < len(second):
            right, j = [j], j + 1
        while math.prod(first[d] for d in left) != math.prod(second[d] for d in right):
            if math.prod(first[d] for d in left) < math.prod(second[d] for d in right):
                left, i = left + [i], i + 1
            else:
                right, j = right + [j], j + 1
        groups.append((left, right))
    # A group needs dimensions on both sides: ones join their neighbours.
    merged: list[tuple[list[int], list[int]]] = []
    for left, right in groups:
        if merged and (not left or not right or not merged[-1][0] or not merged[-1][1]):
            merged[-1] = (merged[-1][0] + left, merged[-1][1] + right)
        else:
            merged.append((left, right))
    return merged


def are_equal(x: torch.Tensor, y: torch.Tensor) -> bool:
    """Whether all elements are the same, which 0 and -0 are not."""
    return bool(((x == y) & (x.signbit() == y.signbit())).all())


def refuse_integers(x: Value) -> None:
    if not x.is_float:
        raise CannotImport(
            f"a product of matrices of {x.dtype}: convert them to floats, as by .float(), first"
        )


class Builder(Positions):
    """A block with methods for what converters need."""

    def __init__(self) -> None:
        super().__init__()
        self.emitted: dict[int, tuple[torch.Tensor, Value]] = {}
        self.draws = 0
        self.micro_batch = 1
        # Of a module in eval mode: what it draws, evaluations draw as well.
        self.is_evaluation = False

    # Constants

    def constant(self, values: torch.Tensor) -> Value:
        """A constant, whose text appears where it is first used."""
        return Value(tuple(values.shape), values.dtype, constant=values)

    def fill(self, shape: Sequence[int], value: float, dtype: torch.dtype) -> Value:
        """A constant of equal elements."""
        if not dtype.is_floating_point and value != value // 1:
            raise CannotImport(f"the number {value} beside integers: make floats of them first")
        return self.constant(torch.tensor(value, dtype=dtype).expand(tuple(shape)))

    def like(self, value: Value, number: float) -> Value:
        return self.fill(value.shape, number, value.dtype)

    def materialize(self, value: Value) -> Value:
        """The operation of a constant, made once; any other value as it is."""
        text.element(value.dtype)  # complex tensors have none
        if 0 in value.shape:
            raise CannotImport(
                f"a {value.type} has no elements, and some are wanted here: leave it out"
            )
        if value.constant is None:
            return value
        known = self.emitted.get(id(value.constant))
        if known:
            return known[1]
        made = self._emit_constant(value.constant)
        self.emitted[id(value.constant)] = (value.constant, made)
        return made

    def _emit_constant(self, values: torch.Tensor) -> Value:
        shape = tuple(values.shape)
        if not values.is_floating_point() and values.dtype != torch.bool:
            values = values.to(torch.int64)
        first = values.flatten()[0]
        if are_equal(values, first):
            return self._dense(shape, values.dtype, text.number(first.item(), values.dtype))
        # What repeats along a dimension is written once.
        kept = [
            dim
            for dim, size in enumerate(shape)
            if size > 1 and not are_equal(values.narrow(dim, 0, 1), values)
        ]
        index = tuple(slice(None) if dim in kept else 0 for dim in range(len(shape)))
        small = values[index]
        made = self._dense(tuple(small.shape), small.dtype, text.dense(small))
        return self.broadcast_dims(made, kept, shape)

    def _dense(self, shape: Shape, dtype: torch.dtype, elements: str) -> Value:
        return self.add(
            "arith.constant", [], [(shape, dtype)], f"dense<{elements}>".replace("{", "{{"), same
        )[0]

    def add(self, kind, operands, results, form="", types=None, **attributes):
        """Appends an operation; its operands may be constants. Of results without elements
        there is nothing to compute."""
        if results and all(0 in shape for shape, _ in results):
            return [Value(tuple(shape), dtype) for shape, dtype in results]
        operands = [self.materialize(value) for value in operands]
        if types is None:
            return super().add(kind, operands, results, form, **attributes)
        return super().add(kind, operands, results, form, types, **attributes)

    # Shapes

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """Any reshape, as a collapse and an expansion."""
        shape = tuple(shape)
        if x.shape == shape:
            return x
        if x.constant is not None:
            return self.constant(x.constant.reshape(shape))
        if x.pair is not None:
            return paired(self.reshape(x.pair, (*shape, 2)))
        while x.op and x.op.kind in ("tensor.collapse_shape", "tensor.expand_shape"):
            x = x.op.operands[0]
        if x.shape == shape:
            return x
        if 0 in shape:
            return Value(shape, x.dtype)
        groups = coarsest_groups(x.shape, shape)
        middle = tuple(math.prod(x.shape[d] for d in left) for left, _ in groups)
        if not x.shape or not shape:
            middle = ()
        if middle != x.shape:
            x = self._reassociate("collapse", x, middle, [g[0] for g in groups])
        if middle != shape:
            x = self._reassociate("expand", x, shape, [g[1] for g in groups])
        return x

    def _reassociate(self, way: str, x: Value, shape: Shape, groups: list) -> Value:
        if not shape or not x.shape:
            groups = []
        form = "{} " + str([list(group) for group in groups])
        if way == "expand":
            form += f" output_shape {list(shape)}"
        kind = f"tensor.{way}_shape"
        return self.add(kind, [x], [(shape, x.dtype)], form, conversion("into"))[0]

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        permutation = [int(dim) for dim in permutation]
        if permutation == sorted(permutation):
            return x
        if x.constant is not None:
            return self.constant(x.constant.permute(permutation).contiguous())
        if x.op and x.op.kind == "nn.transpose":
            inner = x.op.attributes["permutation"]
            return self.transpose(x.op.operands[0], [inner[dim] for dim in permutation])
        shape = tuple(x.shape[dim] for dim in permutation)
        # What moves dimensions of one element only is a reshape.
        long = [dim for dim in permutation if x.shape[dim] > 1]
        if long == sorted(long):
            return self.reshape(x, shape)
        return self.add(
            "nn.transpose",
            [x],
            [(shape, x.dtype)],
            f"{{}} permutation {permutation}",
            permutation=permutation,
        )[0]

    def swap(self, x: Value, first: int, second: int) -> Value:
        permutation = list(range(x.rank))
        permutation[first], permutation[second] = permutation[second], permutation[first]
        return self.transpose(x, permutation)

    def broadcast_dims(self, x: Value, dims: Sequence[int], shape: Shape) -> Value:
        """Dimension i of `x` becomes `dims[i]` of `shape`."""
        if x.shape == tuple(shape):
            return x
        return self.add(
            "nn.broadcast", [x], [(shape, x.dtype)], f"{{}} dims {list(dims)}", dims=list(dims)
        )[0]

    def broadcast(self, x: Value, shape: Sequence[int]) -> Value:
        """`x` in `shape`, by PyTorch's rule."""
        shape = tuple(shape)
        if x.shape == shape:
            return x
        if x.constant is not None:
            return self.constant(x.constant.expand(shape))
        offset = len(shape) - x.rank
        kept = [
            dim
            for dim in range(x.rank)
            if x.shape[dim] == shape[dim + offset] and shape[dim + offset] != 1
        ]
        x = self.reshape(x, [x.shape[dim] for dim in kept])
        return self.broadcast_dims(x, [dim + offset for dim in kept], shape)

    def slice(
        self,
        x: Value,
        starts: Sequence[int],
        sizes: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> Value:
        steps = list(steps or [1] * x.rank)
        if tuple(sizes) == x.shape:
            return x
        form = f"{{}}{list(starts)} {list(sizes)} {steps}"
        return self.add(
            "tensor.extract_slice", [x], [(tuple(sizes), x.dtype)], form, conversion("to")
        )[0]

    def narrow(self, x: Value, dim: int, start: int, size: int, step: int = 1) -> Value:
        starts, sizes, steps = [0] * x.rank, list(x.shape), [1] * x.rank
        starts[dim], sizes[dim], steps[dim] = start, size, step
        return self.slice(x, starts, sizes, steps)

    def split(self, x: Value, dim: int, sizes: Sequence[int]) -> list[Value]:
        if len(sizes) == 1:
            return [x]
        shapes = [x.shape[:dim] + (size,) + x.shape[dim + 1 :] for size in sizes]
        return self.add(
            "nn.split",
            [x],
            [(shape, x.dtype) for shape in shapes],
            f"{{}} dim {dim} sizes {list(sizes)}",
        )

    def concat(self, values: Sequence[Value], dim: int) -> Value:
        values = [value for value in values if value.size] or list(values[:1])
        if len(values) == 1:
            return values[0]
        shape = list(values[0].shape)
        shape[dim] = sum(value.shape[dim] for value in values)
        form = f"dim({dim}) " + ", ".join(["{}"] * len(values))
        return self.add("tensor.concat", values, [(tuple(shape), values[0].dtype)], form)[0]

    # Elements

    def unary(self, kind: str, x: Value) -> Value:
        if not x.is_float:
            raise CannotImport(f"{kind} of integers: make floats of them first")
        return self.add(kind, [x], [(x.shape, x.dtype)], "{}", same)[0]

    def binary(self, name: str, x: Value, y: Value | float) -> Value:
        """`name` is add, sub, mul, div, rem of floats, and, or, xor, maximum, minimum. Of
        truths the first ones are logic, as PyTorch has it."""
        if not isinstance(y, Value):
            y = self.like(x, y)
        shape = tuple(torch.broadcast_shapes(x.shape, y.shape))
        if x.is_float and y.is_float:
            wide = torch.promote_types(x.dtype, y.dtype)
            x, y = self.cast(x, wide), self.cast(y, wide)
        x, y = self.broadcast(x, shape), self.broadcast(y, shape)
        if x.dtype == torch.bool:
            name = OF_TRUTHS.get(name, name)
        if name in ("maximum", "minimum"):
            kind = f"arith.{name}f" if x.is_float else f"arith.{name[:3]}si"
        elif name == "div":
            kind = "arith.divf" if x.is_float else "arith.divsi"
        else:
            kind = f"arith.{name}{'f' if x.is_float else 'i'}"
        return self.add(kind, [x, y], [(shape, x.dtype)], "", same)[0]

    def plus(self, x: Value, y: Value | float) -> Value:
        return self.binary("add", x, y)

    def minus(self, x: Value, y: Value | float) -> Value:
        return self.binary("sub", x, y)

    def times(self, x: Value, y: Value | float) -> Value:
        return self.binary("mul", x, y)

    def over(self, x: Value, y: Value | float) -> Value:
        return self.binary("div", x, y)

    def select_mode(self, training: Value, evaluation: Value) -> Value:
        """One value in training, another of its type in evaluation."""
        results = [(training.shape, training.dtype)]
        return self.add("zero.select_mode", [training, evaluation], results, types=same)[0]

    def track(self, average: Value, value: Value) -> None:
        """In training the loaded `average` follows `value`."""
        form = average.op.attributes["parameter"] + ", {}"
        self.add("zero.track", [value], [], form, of_operand)

    def negative(self, x: Value) -> Value:
        return self.unary("arith.negf", x) if x.is_float else self.minus(self.like(x, 0), x)

    def compare(self, name: str, x: Value, y: Value | float) -> Value:
        if not isinstance(y, Value):
            y = self.like(x, y)
        shape = tuple(torch.broadcast_shapes(x.shape, y.shape))
        x, y = self.broadcast(x, shape), self.broadcast(y, shape)
        kind, which = ("arith.cmpf", 0) if x.is_float else ("arith.cmpi", 1)
        predicate = PREDICATES[name][which]
        if x.dtype == torch.bool:  # one bit, whose sign it is
            predicate = predicate.replace("s", "u")
        form = f"{predicate}, {{}}, {{}}"
        return self.add(kind, [x, y], [(shape, torch.bool)], form, of_operand)[0]

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        shape = tuple(torch.broadcast_shapes(condition.shape, x.shape, y.shape))
        operands = [self.broadcast(value, shape) for value in (condition, x, y)]
        return self.add("arith.select", operands, [(shape, x.dtype)], "", of_select)[0]

    def cast(self, x: Value, dtype: torch.dtype) -> Value:
        """`x` with elements of `dtype`, as `Tensor.to` converts them."""
        if x.constant is not None:
            return self.constant(x.constant.to(dtype))
        source, target = text.element(x.dtype), text.element(dtype)
        if source == target:
            return x
        if dtype == torch.bool:
            return self.compare("ne", x, 0)
        if dtype.is_floating_point and x.dtype.is_floating_point:
            return self._cast_float(x, dtype)
        if dtype.is_floating_point:
            kind = "arith.uitofp" if x.dtype == torch.bool else "arith.sitofp"
        elif x.dtype == torch.bool:
            kind = "arith.extui"
        else:
            return self._cast_to_integers(x, dtype)
        return self.add(kind, [x], [(x.shape, dtype)], "{}", conversion("to"))[0]

    def _cast_to_integers(self, x: Value, dtype: torch.dtype) -> Value:
        """All integers are of one type; of fewer bits they are the low ones."""
        y = self.add("arith.fptosi", [x], [(x.shape, torch.int32)], "{}", conversion("to"))[0]
        limits = torch.iinfo(dtype)
        if limits.bits < 32:
            y = self.binary("and", y, 2**limits.bits - 1)
            if limits.min:
                y = self.minus(self.binary("xor", y, -limits.min), -limits.min)
        y.dtype = dtype
        return y

    def _cast_float(self, x: Value, dtype: torch.dtype) -> Value:
        wide = {torch.float16: 16, torch.bfloat16: 16, torch.float32: 32, torch.float64: 64}
        if wide[x.dtype] == wide[dtype]:
            x = self._cast_float(x, torch.float32)
        kind = "arith.extf" if wide[x.dtype] < wide[dtype] else "arith.truncf"
        return self.add(kind, [x], [(x.shape, dtype)], "{}", conversion("to"))[0]

    def stop(self, x: Value) -> Value:
        """`x` as a constant for the backward pass."""
        if not x.trained:
            return x
        y = self.add("nn.stop_gradient", [x], [(x.shape, x.dtype)], "{}", same)[0]
        y.trained = False
        return y

    def slope(self, x: Value) -> Value:
        """0 with the gradient of `x`; where that is inf or NaN, which cannot be subtracted
        from itself, without one."""
        finite = self.compare("lt", self.unary("math.absf", self.stop(x)), math.inf)
        return self.select(finite, self.minus(x, self.stop(x)), self.like(x, 0))

    # Sums and products

    def reduce(self, kind: str, x: Value, dims: Sequence[int], keep: bool = False) -> Value:
        """`kind` is sum, mean or max, over `dims`."""
        dims = sorted(dim % x.rank for dim in dims)
        shape = tuple(size for dim, size in enumerate(x.shape) if dim not in dims)
        y = x
        if not x.size and kind != "max":
            y = self.fill(shape, 0 if kind == "sum" else math.nan, x.dtype)
        elif dims:
            y = self.add("nn.reduce", [x], [(shape, x.dtype)], f"{kind} {{}} dims {dims}")[0]
        if keep:
            y = self.reshape(y, [1 if dim in dims else size for dim, size in enumerate(x.shape)])
        return y

    def linear(self, x: Value, w: Value, bias: Value | None, transposed: bool) -> Value:
        features = w.shape[0] if transposed else w.shape[1]
        refuse_integers(x)
        operands, form = [x, w], "{}, {}"
        if bias is not None:
            operands, form = operands + [bias], form + " bias {}"
        if transposed:
            form += " transposed"
        return self.add("nn.linear", operands, [(x.shape[:-1] + (features,), x.dtype)], form)[0]

    def matmul(self, a: Value, b: Value, transpose_b: bool = False) -> Value:
        """A product of stacks of matrices, whose leading dimensions broadcast."""
        refuse_integers(a)
        lead = tuple(torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
        a = self.broadcast(a, lead + a.shape[-2:])
        b = self.broadcast(b, lead + b.shape[-2:])
        columns = b.shape[-2] if transpose_b else b.shape[-1]
        form = "{}, {}" + (" transpose_b" if transpose_b else "")
        shape = lead + (a.shape[-2], columns)
        if not a.shape[-1]:
            return self.fill(shape, 0, a.dtype)
        return self.add("nn.matmul", [a, b], [(shape, a.dtype)], form)[0]

    def softmax(self, x: Value, dim: int = -1) -> Value:
        dim %= x.rank
        y = self.swap(x, dim, x.rank - 1)
        y = self.add("nn.softmax", [y], [(y.shape, y.dtype)], "{}", same)[0]
        return self.swap(y, dim, x.rank - 1)

    def dropout(self, x: Value, p: float) -> Value:
        """Dropout with an id of its own. zero takes dimension 0 for the samples;
        where it is something else, the elements are dealt to as many rows as
        there are samples, so that no two samples of a run share a mask."""
        if p == 0:
            return x
        if p == 1:
            return self.select_mode(self.times(x, 0), x)
        y = self.reshape(x, self._by_samples(x.shape))
        form = f"{{}} p {self.draw_dropout(p)}"
        y = self.add("nn.dropout", [y], [(y.shape, y.dtype)], form, same)[0]
        return self.reshape(y, x.shape)

    def draw_dropout(self, p: float) -> str:
        """The probability, and an id of its own, as operations print them."""
        if not 0 <= p < 1:
            raise CannotImport(f"dropout with p = {p}: wanted 0 <= p < 1")
        return f"{text.decimal(p)} id {self._draw()}"

    def random_normal(self, shape: Shape, dtype: torch.dtype) -> Value:
        """Standard normal numbers."""
        return self._drawn("normal", shape, dtype)

    def random_uniform(self, shape: Shape, dtype: torch.dtype) -> Value:
        """Numbers from 0 to below 1."""
        return self._drawn("uniform", shape, dtype)

    def random_integers(self, shape: Shape, below: int) -> Value:
        """Integers from 0 to below a number."""
        if not 1 <= below < 2**31:
            raise CannotImport(f"integers of {below} values: wanted 1 to {2**31 - 1}")
        return self._drawn("integers", shape, torch.int64, f" below {below}")

    def _drawn(self, kind: str, shape: Shape, dtype: torch.dtype, form: str = "") -> Value:
        """With an id of their own, dealt to samples as the masks of dropout are."""
        result = (self._by_samples(shape), dtype)
        y = self.add(f"nn.random_{kind}", [], [result], f"id {self._draw()}{form}", same)[0]
        return self.reshape(y, shape)

    def _by_samples(self, shape: Shape) -> Shape:
        """As many elements with the samples of the micro-batch first."""
        size = math.prod(shape)
        rows = self.micro_batch if size % self.micro_batch == 0 else 1
        return shape if shape[:1] == (rows,) else (rows, size // rows)

    def _draw(self) -> int:
        """An id that nothing else draws with."""
        self.draws += 1
        return self.draws - 1

    def positions(self, shape: Shape, dim: int) -> Value:
        """i32: the index along `dim`."""
        view = [1] * len(shape)
        view[dim] = shape[dim]
        return self.constant(torch.arange(shape[dim]).reshape(view).expand(shape))

    def one_hot(self, ids: Value, classes: int) -> Value:
        """i1 of shape [ids.., classes]."""
        shape = ids.shape + (classes,)
        wide = self.broadcast(self.reshape(ids, ids.shape + (1,)), shape)
        return self.compare("eq", self.positions(shape, len(shape) - 1), wide)
