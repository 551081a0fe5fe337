"""What integers of a graph can be.

PyTorch's have 64 bits or wrap at a width of their own, zero's have 32. A graph whose
integers may leave what both can say is refused.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import torch
from torch.fx import Node

from zero.importer.captured import Captured, needed
from zero.importer.convert.registry import bind
from zero.importer.errors import CannotImport
from zero.importer.places import place_of
from zero.importer.text import ELEMENTS

Range = tuple[float, float]

# An input, or a float of unknown size as an integer: ids, lengths and times fit, and
# so do sums and differences of a few.
USUAL: Range = (-(2**29), 2**29)
WORD: Range = (-(2**31), 2**31 - 1)
# Sums of integers are computed in f32, which has these without rounding.
EXACT: Range = (-(2**24), 2**24)

RULES: dict[str, Callable[["Ranges", dict[str, Any], Node], Range | None]] = {}


def rule(*names: str) -> Callable:
    """A rule for operations: from their arguments, by name, to the range of results."""

    def register(function: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def check_integers(captured: Captured) -> None:
    """Refuses what 32 bits do not hold."""
    Ranges(captured).check()


def is_within(range_: Range, bounds: Range) -> bool:
    return bounds[0] <= range_[0] and range_[1] <= bounds[1]


def hull(*ranges: Range | None) -> Range | None:
    if not ranges or any(r is None for r in ranges):
        return None
    return min(r[0] for r in ranges), max(r[1] for r in ranges)


def limits(dtype: torch.dtype) -> Range:
    if dtype == torch.bool:
        return 0, 1
    info = torch.iinfo(dtype)
    return info.min, info.max


def dtype_of(node: Node) -> torch.dtype | None:
    value = node.meta.get("val")
    return value.dtype if isinstance(value, torch.Tensor) else None


def is_integer(dtype: torch.dtype | None) -> bool:
    return dtype is not None and not dtype.is_floating_point and not dtype.is_complex


def is_narrow(dtype: torch.dtype | None) -> bool:
    return is_integer(dtype) and dtype != torch.bool and torch.iinfo(dtype).bits < 32


class Ranges:
    """The range of each tensor; None for floats of which nothing is known."""

    def __init__(self, captured: Captured):
        self.captured = captured
        self.live = needed(captured.results)
        self.known: dict[Node, Any] = {}
        rows = self._rows()
        for node, name in captured.inputs.items():
            if is_integer(dtype_of(node)):
                self.known[node] = self._of_input(node, captured.batch.get(name), rows.get(node))

    def _rows(self) -> dict[Node, int]:
        """The inputs that are numbers of rows of a table, which lookups check."""
        rows: dict[Node, int] = {}
        for node in self.live:
            if name_of(node) == "embedding":
                source = node.args[1]
                while isinstance(source, Node) and name_of(source) in RESHAPES:
                    source = source.args[0]
                size = node.args[0].meta["val"].shape[0]
                rows[source] = min(size, rows.get(source, size))
        return rows

    @staticmethod
    def _of_input(node: Node, example: Any, rows: int | None) -> Range:
        own = limits(dtype_of(node))
        if rows is not None:
            return 0, rows - 1
        is_known = isinstance(example, torch.Tensor) and example.dtype in ELEMENTS
        if is_known and example.numel() and not example.is_meta:
            # Zeros alone are no mask: they may stand for anything.
            if int(example.min()) >= 0 and int(example.max()) == 1:
                return 0, 1
        return max(own[0], USUAL[0]), min(own[1], USUAL[1])

    def check(self) -> None:
        for node in self.captured.graph.nodes:
            if node.op != "call_function" or node not in self.live:
                continue
            if node not in self.captured.constants:
                self.known[node] = self._of_node(node)

    def _of_node(self, node: Node) -> Any:
        if name_of(node) == "getitem":
            found = self.known.get(node.args[0])
            found = found[node.args[1]] if isinstance(found, list) else found
            return found or (limits_in_word(dtype_of(node)) if is_integer(dtype_of(node)) else None)
        function = RULES.get(name_of(node))
        found = function(self, bind(node), node) if function else None
        if isinstance(found, list) or not is_integer(dtype_of(node)):
            return found
        return self._settled(node, found)

    def _settled(self, node: Node, found: Range | None) -> Range:
        """The range of integers that a node gives. Refuses what wraps otherwise."""
        dtype = dtype_of(node)
        if found is None:
            return limits_in_word(dtype)
        own = limits_in_word(dtype)
        if is_within(found, own) or dtype == torch.bool:
            return max(own[0], found[0]), min(own[1], found[1])
        if dtype == torch.int32 and name_of(node) in WRAPPING:
            return own
        refuse(node, found, f"{torch.iinfo(dtype).bits if dtype != torch.int64 else 32} bits")

    def of(self, value: Any) -> Range | None:
        if isinstance(value, (bool, int, float)):
            return value, value
        if isinstance(value, torch.Tensor):
            return range_of_values(value)
        if value in self.captured.constants:
            return self.of(self.captured.constants[value])
        found = self.known.get(value)
        return None if isinstance(found, list) else found


def name_of(node: Node) -> str:
    name = getattr(node.target, "_opname", None) or getattr(node.target, "__name__", "")
    return name.strip("_") if name.startswith("__") else name


def limits_in_word(dtype: torch.dtype) -> Range:
    own = limits(dtype)
    return max(own[0], WORD[0]), min(own[1], WORD[1])


def range_of_values(value: torch.Tensor) -> Range | None:
    if not value.numel() or value.dtype not in ELEMENTS:
        return None
    low, high = value.min().item(), value.max().item()
    return (low, high) if abs(low) < 1e30 and abs(high) < 1e30 else None


def refuse(node: Node, found: Range, width: str) -> None:
    raise CannotImport(
        f"{node.target} gives integers that may be {found[0]:.0f} to {found[1]:.0f}, beyond "
        f"{width}, where PyTorch's differ from zero's: bound what it is given, such as "
        "x.clamp(0, n) or x % n, or compute it in floats",
        place_of(node),
    )


# Rules. What is not among them may be anything of 32 bits.

RESHAPES = (
    "view _unsafe_view reshape flatten unflatten squeeze unsqueeze transpose t permute movedim "
    "clone contiguous alias lift_fresh_copy _to_copy to type_as detach"
).split()
SELECTIONS = (
    "expand expand_as slice select narrow gather index_select index repeat repeat_interleave roll "
    "flip unbind split split_with_sizes chunk diagonal unfold stop_gradient hooked numpy_T mT "
    "broadcast_tensors nan_to_num strided"
).split()
WRAPPING = "add sub subtract rsub mul multiply cumsum cumprod prod pow square neg negative".split()


@rule(*(name for name in RESHAPES if name not in ("_to_copy", "to", "type_as")), *SELECTIONS)
def same(r: Ranges, a: dict, node: Node):
    return r.of(next(iter(a.values())))


@rule("_to_copy", "to", "type_as")
def conversion(r: Ranges, a: dict, node: Node):
    found, dtype = r.of(a["self"]), dtype_of(node)
    if dtype == torch.bool:
        return 0, 1
    if found and is_narrow(dtype) and not is_integer(dtype_of(a["self"])):
        return found if is_within(found, limits(dtype)) else None  # Floats wrap.
    return USUAL if found is None and dtype in (torch.int32, torch.int64) else found


@rule("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "logical_xor")
@rule("any", "all", "isnan", "isinf", "isfinite", "one_hot")
def truth(r: Ranges, a: dict, node: Node):
    return 0, 1


def combined(x: Range | None, y: Range | None, function: Callable) -> Range | None:
    """Of a function whose extrema are at the ends of both ranges."""
    if x is None or y is None:
        return None
    values = [function(i, j) for i in x for j in y]
    return min(values), max(values)


@rule("add", "sub", "subtract", "rsub")
def addition(r: Ranges, a: dict, node: Node):
    x, y, alpha = r.of(a["self"]), r.of(a["other"]), a.get("alpha", 1)
    if name_of(node) == "rsub":
        return combined(y, x, lambda i, j: i - alpha * j)
    sign = 1 if name_of(node) == "add" else -1
    return combined(x, y, lambda i, j: i + sign * alpha * j)


@rule("mul", "multiply")
def product(r: Ranges, a: dict, node: Node):
    if a["self"] is a["other"]:
        return squared(r.of(a["self"]))
    return combined(r.of(a["self"]), r.of(a["other"]), lambda i, j: i * j)


def squared(x: Range | None, exponent: float = 2) -> Range | None:
    if x is None or exponent != int(exponent) or not 0 <= exponent <= 64:
        return None
    ends = [i ** int(exponent) for i in x]
    inside = [0] if x[0] < 0 < x[1] and exponent else []
    return min(ends + inside), max(ends + inside)


@rule("square")
def square(r: Ranges, a: dict, node: Node):
    return squared(r.of(a["self"]))


@rule("pow")
def power(r: Ranges, a: dict, node: Node):
    exponent = a["exponent"]
    if not isinstance(exponent, (int, float)) or not isinstance(a["self"], Node):
        if is_integer(dtype_of(node)):
            raise CannotImport(
                f"{node.target} of integers, whose exponent is a tensor: compute it in floats",
                place_of(node),
            )
        return None
    return squared(r.of(a["self"]), exponent)


@rule("neg", "negative")
def negation(r: Ranges, a: dict, node: Node):
    return combined(r.of(a["self"]), (0, 0), lambda i, _: -i)


@rule("abs", "absolute")
def magnitude(r: Ranges, a: dict, node: Node):
    x = r.of(a["self"])
    if x is None:
        return None
    return (0 if x[0] < 0 < x[1] else min(map(abs, x))), max(map(abs, x))


@rule("div", "floor_divide", "divide", "true_divide")
def quotient(r: Ranges, a: dict, node: Node):
    x, y = r.of(a["self"]), r.of(a["other"])
    if x is None or y is None:
        return x if is_integer(dtype_of(node)) else None
    if y[0] > 0 or y[1] < 0:
        low, high = combined(x, y, lambda i, j: i / j)
        return low - 1 if is_integer(dtype_of(node)) else low, high
    largest = max(map(abs, x)) + 1
    return (-largest, largest) if is_integer(dtype_of(node)) else None


@rule("fmod")
def truncated_remainder(r: Ranges, a: dict, node: Node):
    x, y = r.of(a["self"]), r.of(a["other"])
    if y is None:
        return None
    largest = max(map(abs, y))
    return (0 if x is not None and x[0] >= 0 else -largest), largest


@rule("remainder")
def remainder(r: Ranges, a: dict, node: Node):
    x, y = r.of(a["self"]), r.of(a["other"])
    if y is None:
        return None
    if x is not None and 0 <= x[0] and x[1] < y[0]:
        return x
    largest = max(map(abs, y))
    return (-largest if y[0] < 0 else 0), (largest if y[1] > 0 else 0)


@rule("floor", "ceil", "round", "trunc")
def rounding(r: Ranges, a: dict, node: Node):
    x = r.of(a["self"])
    return None if x is None else (x[0] - 1, x[1] + 1)


@rule("bitwise_and", "and")
def bits_of_both(r: Ranges, a: dict, node: Node):
    x, y = r.of(a["self"]), r.of(a["other"])
    bounds = [s[1] for s in (x, y) if s is not None and s[0] >= 0]
    return (0, min(bounds)) if bounds else all_bits(x, y)


@rule("bitwise_or", "or", "bitwise_xor", "xor", "bitwise_not")
def bits(r: Ranges, a: dict, node: Node):
    return all_bits(*(r.of(x) for x in a.values()))


def all_bits(*ranges: Range | None) -> Range | None:
    """What the bits of the operands can make."""
    found = hull(*ranges)
    if found is None:
        return None
    top = 1 << max(int(found[1]).bit_length(), int(-found[0] - 1).bit_length(), 0)
    return -top, top - 1


def smaller(x: Range, y: Range) -> Range:
    return min(x[0], y[0]), min(x[1], y[1])


def larger(x: Range, y: Range) -> Range:
    return max(x[0], y[0]), max(x[1], y[1])


@rule("clamp", "clamp_min", "clamp_max", "hardtanh")
def clamped(r: Ranges, a: dict, node: Node):
    x = r.of(a["self"])
    for bound, choose in (("min", larger), ("max", smaller)):
        given = a.get(bound, a.get(f"{bound}_val"))
        limit = None if given is None else r.of(given)
        if limit is not None and x is None:
            x = (float("-inf"), float("inf"))
        x = choose(x, limit) if limit is not None else x
    return x if x is None or all(abs(i) < float("inf") for i in x) else None


@rule("maximum", "minimum")
def extremum_of_two(r: Ranges, a: dict, node: Node):
    x, y = r.of(a["self"]), r.of(a["other"])
    if x is None or y is None:
        return None
    return larger(x, y) if name_of(node) == "maximum" else smaller(x, y)


@rule("where")
def choice(r: Ranges, a: dict, node: Node):
    return hull(r.of(a["self"]), r.of(a["other"]))


@rule("masked_fill")
def filled(r: Ranges, a: dict, node: Node):
    return hull(r.of(a["self"]), r.of(a["value"]))


@rule("masked_scatter", "index_copy")
def scattered(r: Ranges, a: dict, node: Node):
    return hull(r.of(a["self"]), r.of(a["source"]))


@rule("scatter", "select_scatter", "slice_scatter", "copy")
def written(r: Ranges, a: dict, node: Node):
    return hull(r.of(a["self"]), r.of(a["src"] if "src" in a else a["value"]))


@rule("index_put")
def put(r: Ranges, a: dict, node: Node):
    if a["accumulate"]:
        shapes = [index.meta["val"].shape for index in a["indices"] if index is not None]
        count = math.prod(torch.broadcast_shapes(*shapes))
        return added_at(r, node, a["self"], a["values"], count)
    return hull(r.of(a["self"]), r.of(a["values"]))


@rule("index_add", "scatter_add")
def added(r: Ranges, a: dict, node: Node):
    source = a["source"] if "source" in a else a["src"]
    count = a["index"].meta["val"].numel()
    return added_at(r, node, a["self"], source, count, a.get("alpha", 1))


def added_at(r: Ranges, node: Node, into, values, count: int, factor=1) -> Range | None:
    """All of `count` positions may be one place; sums are of floats."""
    x, y = r.of(into), r.of(values)
    if x is None or y is None:
        return None
    each = combined(y, (factor, factor), lambda i, j: i * j)
    found = combined(x, hull(multiplied(each, count), (0, 0)), lambda i, j: i + j)
    if is_integer(dtype_of(node)) and not is_within(found, EXACT):
        refuse(node, found, "the 24 bits of a sum")
    return found


@rule("cat", "concat", "stack")
def joined(r: Ranges, a: dict, node: Node):
    return hull(*map(r.of, a["tensors"]))


@rule("tril", "triu", "constant_pad_nd", "pad")
def padded(r: Ranges, a: dict, node: Node):
    return hull(r.of(a["self"]), r.of(a.get("value") or 0))


@rule("bucketize")
def places_between(r: Ranges, a: dict, node: Node):
    return 0, a["boundaries"].meta["val"].numel()


@rule("searchsorted")
def places_in_order(r: Ranges, a: dict, node: Node):
    return 0, a["sorted_sequence"].meta["val"].numel()


@rule("argmax", "argmin", "argsort")
def positions(r: Ranges, a: dict, node: Node):
    return 0, max(1, a["self"].meta["val"].numel())


@rule("sort", "topk", "kthvalue", "cummax", "cummin")
def ordered(r: Ranges, a: dict, node: Node):
    return [r.of(a["self"]), positions(r, a, node)]


@rule("amax", "amin", "max", "min", "median")
def extremum(r: Ranges, a: dict, node: Node):
    if "other" in a:
        return hull(r.of(a["self"]), r.of(a["other"]))
    found = r.of(a["self"])
    several = isinstance(node.meta.get("val"), (list, tuple))
    return [found, positions(r, a, node)] if several else found


def multiplied(x: Range, count: int) -> Range:
    return min(x[0], x[0] * count), max(x[1], x[1] * count)


@rule("randint", "randint_like")
def drawn(r: Ranges, a: dict, node: Node):
    return a.get("low", 0), a["high"] - 1


@rule("rand", "rand_like", "bernoulli")
def drawn_share(r: Ranges, a: dict, node: Node):
    return 0, 1


@rule("sum")
def total(r: Ranges, a: dict, node: Node):
    x = r.of(a["self"])
    if x is None:
        return None
    count = a["self"].meta["val"].numel() // max(1, node.meta["val"].numel())
    found = multiplied(x, count)
    if is_integer(dtype_of(node)) and not is_within(found, EXACT):
        refuse(node, found, "the 24 bits of a sum")
    return found


@rule("prod", "cumprod")
def product_of_all(r: Ranges, a: dict, node: Node):
    x, shape = r.of(a["self"]), a["self"].meta["val"].shape
    if x is None:
        return None
    dim = a.get("dim")
    count = math.prod(shape) if dim is None else shape[dim] if shape else 1
    largest = max(map(abs, x))
    if largest <= 1 or count * math.log2(largest) > 64:
        largest = 1 if largest <= 1 else 2.0**64
    else:
        largest = largest**count
    return (0 if x[0] >= 0 else -largest), largest


@rule("cumsum")
def running_total(r: Ranges, a: dict, node: Node):
    x, shape = r.of(a["self"]), a["self"].meta["val"].shape
    return None if x is None else multiplied(x, shape[a["dim"]] if shape else 1)
