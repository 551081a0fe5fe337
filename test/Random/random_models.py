"""Random models, as MLIR: valid ones, of every operation that a model may have.

A model reads tokens, and each of its blocks takes and gives a residual of [samples,
positions, width]. `Model(choose).text()` is a function of what `choose`, a random.Random,
gives.
"""

import math
import random
import re


# Operations that no model here has.
LEFT_OUT = {
    "nn.scatter": "has no gradient where two indices meet, as of integers",
    "nn.capacity_dispatch": "is made of nn.dispatch on request",
    "nn.linear_cross_entropy": "is made of nn.linear and nn.cross_entropy on request",
    "nn.silu_mul": "is made of nn.silu in 16 bits",
    "nn.linear_add": "is made for GPUs",
    "nn.linear_gelu": "is made for GPUs",
    "nn.linear_weight_grad": "is made for GPUs",
    "nn.conv_weight_grad": "is a gradient",
    "nn.add_layer_norm": "is made of an addition and nn.layer_norm",
    "nn.add_rms_norm": "is made of an addition and nn.rms_norm",
}


class Model:
    def __init__(self, choose):
        self.choose = choose
        self.samples = choose.choice((1, 2, 3))
        self.positions = choose.choice((4, 6, 8))
        self.heads = choose.choice((1, 2, 4))
        self.head_size = choose.choice((2, 4, 6))
        self.width = self.heads * self.head_size
        self.vocabulary = 256
        self.parameters, self.body, self.operations = [], [], set()
        self.shared = {}  # by type: names of parameters that may be used again
        self.count = self.masks = 0
        self.residual = self.tensor(self.samples, self.positions, self.width)
        self.tokens = self.tensor(self.samples, self.positions, kind="i32")

    @staticmethod
    def tensor(*shape, kind="f32"):
        return "tensor<" + "".join(f"{size}x" for size in shape) + kind + ">"

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def add(self, results, text):
        """Adds an operation with so many results, and returns their names."""
        names = [self.name() for _ in range(results)]
        self.operations.add(text.split()[0])
        self.body.append(f"{', '.join(names)} = {text}")
        return names if results > 1 else names[0]

    def parameter(self, shape, start=None, reuse=True):
        """The value of a parameter: a new one, or of one that is there."""
        kind = self.tensor(*shape)
        known = self.shared.setdefault(kind, [])
        if known and reuse and self.choose.random() < 0.15:
            name = self.choose.choice(known)
        else:
            name = f"p{len(self.parameters)}"
            known.append(name)
            frozen = " frozen" if self.choose.random() < 0.1 else ""
            group = ' group "no_decay"' if len(shape) < 2 else ""
            start = start or f"#zero.normal<std = {self.choose.choice((0.02, 0.1, 0.3))}>"
            self.parameters.append(f"zero.parameter @{name} : {kind} = {start}{group}{frozen}")
        return self.add(1, f"zero.load @{name} : {kind}")

    # Blocks: from the residual to one of its type.

    def linear(self, x, before, inner, outer):
        """A linear operation on the last dimension of `before` + [inner]."""
        source, result = self.tensor(*before, inner), self.tensor(*before, outer)
        transposed = self.choose.random() < 0.3
        shape = (outer, inner) if transposed else (inner, outer)
        w, words, types = self.parameter(shape), "", ""
        if self.choose.random() < 0.5:
            bias = self.parameter((outer,), "#zero.zeros")
            words, types = f" bias {bias}", ", " + self.tensor(outer)
        words += " transposed" if transposed else ""
        return self.add(1, f"nn.linear {x}, {w}{words} : ({source}, {self.tensor(*shape)}{types}) "
                           f"-> {result}")

    def norm(self, x):
        rows, vector = self.tensor(self.samples, self.positions), self.tensor(self.width)
        w = self.parameter((self.width,), "#zero.ones")
        if self.choose.random() < 0.5:
            return self.add(2, f"nn.rms_norm {x}, {w} eps 1.0e-5 : ({self.residual}, {vector}) -> "
                               f"({self.residual}, {rows})")[0]
        b = self.parameter((self.width,), "#zero.zeros")
        return self.add(3, f"nn.layer_norm {x}, {w}, {b} eps 1.0e-5 : ({self.residual}, {vector}, "
                           f"{vector}) -> ({self.residual}, {rows}, {rows})")[0]

    def perceptron(self, x):
        before, wide = (self.samples, self.positions), self.choose.choice((3, 8, 16))
        kind = self.tensor(*before, wide)
        h = self.linear(x, before, self.width, wide)
        form = self.choose.choice(("nn.gelu tanh", "nn.gelu exact", "nn.silu", "gated"))
        if form == "gated":
            up = self.linear(x, before, self.width, wide)
            h = self.add(1, f"arith.mulf {self.add(1, f'nn.silu {h} : {kind}')}, {up} : {kind}")
        else:
            h = self.add(1, f"{form} {h} : {kind}")
        return self.linear(h, before, wide, self.width)

    def attention(self, x):
        before = (self.samples, self.positions)
        keys = self.choose.choice([n for n in (1, 2, 4) if self.heads % n == 0])
        values = [self.linear(x, before, self.width, heads * self.head_size)
                  for heads in (self.heads, keys, keys)]
        kinds = []
        for i, heads in enumerate((self.heads, keys, keys)):
            shape = [*before, heads, self.head_size]
            kinds.append(self.tensor(*shape))
            flat = self.tensor(*before, heads * self.head_size)
            values[i] = self.add(1, f"tensor.expand_shape {values[i]} [[0], [1], [2, 3]] "
                                    f"output_shape {shape} : {flat} into {kinds[i]}")
        if self.choose.random() < 0.4:
            for i in (0, 1):
                values[i] = self.add(1, f"nn.rotary {values[i]} theta 100.0 : {kinds[i]}")
        causal = " causal" if self.choose.random() < 0.6 else ""
        dropout = f" dropout 0.25 id {self.mask()}" if self.choose.random() < 0.3 else ""
        lse = self.tensor(self.samples, self.heads, self.positions)
        o = self.add(2, f"nn.attention {', '.join(values)}{causal} scale "
                        f"{1 / math.sqrt(self.head_size)}{dropout} : ({', '.join(kinds)}) -> "
                        f"({kinds[0]}, {lse})")[0]
        o = self.add(1, f"tensor.collapse_shape {o} [[0], [1], [2, 3]] : {kinds[0]} into "
                        f"{self.residual}")
        return self.linear(o, before, self.width, self.width)

    def mask(self):
        self.masks += 1
        return self.masks

    def dropout(self, x):
        return self.add(1, f"nn.dropout {x} p 0.25 id {self.mask()} : {self.residual}")

    def scale(self, x):
        """By a vector, or by a parameter of one element."""
        if self.choose.random() < 0.5:
            w, kind, dims = self.parameter((self.width,), "#zero.ones"), self.tensor(self.width), [2]
        else:
            w, kind, dims = self.parameter((1,), "#zero.ones"), self.tensor(1), None
        if dims is None:
            w = self.add(1, f"tensor.collapse_shape {w} [] : {kind} into tensor<f32>")
            kind, dims = "tensor<f32>", []
        wide = self.add(1, f"nn.broadcast {w} dims {dims} : ({kind}) -> {self.residual}")
        return self.add(1, f"arith.mulf {x}, {wide} : {self.residual}")

    def halves(self, x):
        """Cut in two along a dimension, and put together the other way round."""
        dim = self.choose.choice((1, 2))
        shape = [self.samples, self.positions, self.width]
        first = self.choose.randrange(1, shape[dim]) if shape[dim] > 1 else 0
        if first == 0:
            return self.dropout(x)
        kinds = []
        for size in (first, shape[dim] - first):
            kinds.append(self.tensor(*[size if i == dim else n for i, n in enumerate(shape)]))
        a, b = self.add(2, f"nn.split {x} dim {dim} sizes [{first}, {shape[dim] - first}] : "
                           f"({self.residual}) -> ({', '.join(kinds)})")
        return self.add(1, f"tensor.concat dim({dim}) {b}, {a} : ({kinds[1]}, {kinds[0]}) -> "
                           f"{self.residual}")

    def mixing(self, x):
        """Positions mixed by a softmax of products of the residual with itself."""
        square = self.tensor(self.samples, self.positions, self.positions)
        s = self.add(1, f"nn.matmul {x}, {x} transpose_b : ({self.residual}, {self.residual}) -> "
                        f"{square}")
        p = self.add(1, f"nn.softmax {s} : {square}")
        return self.add(1, f"nn.matmul {p}, {x} : ({square}, {self.residual}) -> {self.residual}")

    def image(self, x):
        """Convolutions and pooling over [heads, head size] of each position's channel."""
        shape = [self.samples, self.positions, self.heads, self.head_size]
        kind = self.tensor(*shape)
        y = self.add(1, f"tensor.expand_shape {x} [[0], [1], [2, 3]] output_shape {shape} : "
                        f"{self.residual} into {kind}")
        form = self.choose.choice(("nn.conv", "nn.conv_transpose", "pool", "norm"))
        if form.startswith("nn.conv"):
            groups = self.choose.choice((1, 2))
            weight = (self.positions, self.positions // groups, 3, 3)
            w = self.parameter(weight)
            y = self.add(1, f"{form} {y}, {w} strides [1, 1] padding [1, 1] dilations [1, 1] "
                            f"groups {groups} : ({kind}, {self.tensor(*weight)}) -> {kind}")
        elif form == "pool":
            pool = self.choose.choice(("nn.max_pool", "nn.avg_pool"))
            more = " dilations [1, 1]" if pool == "nn.max_pool" else ""
            y = self.add(1, f"{pool} {y} window [3, 3] strides [1, 1] padding [1, 1]{more} : "
                            f"({kind}) -> {kind}")
        else:
            w = self.parameter((self.positions,), "#zero.ones")
            b = self.parameter((self.positions,), "#zero.zeros")
            channels = self.tensor(self.positions)
            y = self.add(3, f"nn.batch_norm {y}, {w}, {b} eps 1.0e-3 : ({kind}, {channels}, "
                            f"{channels}) -> ({kind}, {channels}, {channels})")[0]
        return self.add(1, f"tensor.collapse_shape {y} [[0], [1], [2, 3]] : {kind} into "
                           f"{self.residual}")

    def experts(self, x):
        count, rows = self.choose.choice((2, 3, 4)), self.samples * self.positions
        chosen = self.choose.choice((1, 2))
        flat = self.tensor(rows, self.width)
        x = self.add(1, f"tensor.collapse_shape {x} [[0, 1], [2]] : {self.residual} into {flat}")
        router = self.linear(x, (rows,), self.width, count)
        scores, choices = self.tensor(rows, count), self.tensor(rows, chosen, kind="i32")
        shares, ends = self.tensor(rows, chosen), self.tensor(count, kind="i32")
        p = self.add(1, f"nn.softmax {router} : {scores}")
        ids = self.add(1, f"nn.argsort {p} descending first {chosen} : {scores} -> {choices}")
        share = self.add(1, f"nn.gather {p}, {ids} dim 1 : ({scores}, {choices}) -> {shares}")
        sent, places, ends_of = self.add(
            3, f"nn.dispatch {x}, {ids} experts {count} : ({flat}, {choices}) -> "
               f"({self.tensor(rows * chosen, self.width)}, {choices}, {ends})")
        sent_kind = self.tensor(rows * chosen, self.width)
        weight = (count, self.width, self.width)
        w = self.parameter(weight)
        y = self.add(1, f"nn.grouped_matmul {sent}, {w} offsets {ends_of} : ({sent_kind}, "
                        f"{self.tensor(*weight)}, {ends}) -> {sent_kind}")
        y = self.add(1, f"nn.combine {y}, {places} weights {share} : ({sent_kind}, {choices}, "
                        f"{shares}) -> {flat}")
        return self.add(1, f"tensor.expand_shape {y} [[0, 1], [2]] output_shape "
                           f"[{self.samples}, {self.positions}, {self.width}] : {flat} into "
                           f"{self.residual}")

    def running(self, x):
        """Sums along the positions, and a part that gives no gradient."""
        dim = self.choose.choice((1, 2))
        reverse = " reverse" if self.choose.random() < 0.5 else ""
        y = self.add(1, f"nn.cumsum {x} dim {dim}{reverse} : {self.residual}")
        stopped = self.add(1, f"nn.stop_gradient {x} : {self.residual}")
        return self.add(1, f"arith.subf {y}, {stopped} : {self.residual}")

    def noise(self, x):
        number = self.mask()
        if number % 3 == 2:
            whole = self.residual.replace("f32", "i32")
            t = self.add(1, f"nn.random_integers id {number} below {number} : {whole}")
            z = self.add(1, f"arith.sitofp {t} : {whole} to {self.residual}")
        else:
            kind = "uniform" if number % 3 else "normal"
            z = self.add(1, f"nn.random_{kind} id {number} : {self.residual}")
        return self.add(1, f"arith.addf {x}, {z} : {self.residual}")

    def across(self, x):
        """A linear operation on the positions."""
        turned = self.tensor(self.samples, self.width, self.positions)
        t = self.add(1, f"nn.transpose {x} permutation [0, 2, 1] : ({self.residual}) -> {turned}")
        t = self.linear(t, (self.samples, self.width), self.positions, self.positions)
        return self.add(1, f"nn.transpose {t} permutation [0, 2, 1] : ({turned}) -> "
                           f"{self.residual}")

    def sorted(self, x):
        """Positions in the order of their sums, and back again."""
        sums = self.tensor(self.samples, self.positions)
        ids_kind = self.tensor(self.samples, self.positions, kind="i32")
        s = self.add(1, f"nn.reduce sum {x} dims [2] : ({self.residual}) -> {sums}")
        ids = self.add(1, f"nn.argsort {s} : {sums} -> {ids_kind}")
        kinds = f"({self.residual}, {ids_kind}) -> {self.residual}"
        y = self.add(1, f"nn.gather {x}, {ids} dim 1 : {kinds}")
        if self.choose.random() < 0.5:
            y = self.dropout(y)
        return self.add(1, f"nn.scatter_add {y}, {ids} dim 1 : {kinds}")

    def pooled(self, x):
        """The mean or the largest of all positions, on each."""
        form = self.choose.choice(("mean", "sum", "max"))
        kind = self.tensor(self.samples, self.width)
        y = self.add(1, f"nn.reduce {form} {x} dims [1] : ({self.residual}) -> {kind}")
        return self.add(1, f"nn.broadcast {y} dims [0, 2] : ({kind}) -> {self.residual}")

    BLOCKS = (noise, across, sorted, pooled, norm, perceptron, attention, dropout, scale, halves, mixing, image, experts, running)

    def step(self):
        table = self.parameter((self.vocabulary, self.width), reuse=False)
        kind = self.tensor(self.vocabulary, self.width)
        x = self.add(1, f"nn.embedding %tokens, {table} : ({self.tokens}, {kind}) -> "
                        f"{self.residual}")
        for _ in range(self.choose.randrange(0, 7)):
            y = self.choose.choice(self.BLOCKS)(self, x)
            x = (self.add(1, f"arith.addf {x}, {y} : {self.residual}")
                 if self.choose.random() < 0.7 else y)
        x = self.norm(x)
        logits_kind = self.tensor(self.samples, self.positions, self.vocabulary)
        if self.choose.random() < 0.5:  # tied
            head = self.add(1, f"zero.load @p0 : {kind}")
            logits = self.add(1, f"nn.linear {x}, {head} transposed : ({self.residual}, {kind}) -> "
                                 f"{logits_kind}")
        else:
            logits = self.linear(x, (self.samples, self.positions), self.width, self.vocabulary)
        loss, _ = self.add(2, f"nn.cross_entropy {logits}, %targets : ({logits_kind}, "
                              f"{self.tokens}) -> (tensor<f32>, "
                              f"{self.tensor(self.samples, self.positions)})")
        self.body.append(f"zero.yield {loss} : tensor<f32>")

    def text(self):
        self.step()
        if all(each.endswith(" frozen") for each in self.parameters):
            self.parameters[0] = self.parameters[0].removesuffix(" frozen")
        if self.choose.random() < 0.1:  # nobody reads it
            self.parameters.append("zero.parameter @unused : tensor<5xf32> = #zero.ones")
        if self.choose.random() < 0.1:
            self.parameters.append("zero.parameter @empty : tensor<0x3xf32> = #zero.ones")
        lines = self.parameters + [
            f'zero.step @train(%tokens: {self.tokens} {{zero.input = "tokens"}}, '
            f'%targets: {self.tokens} {{zero.input = "targets"}}) {{'
        ] + ["  " + line for line in self.body] + ["}"]
        return "\n".join(lines) + "\n"


def missing_operations(reference, models=400):
    """Operations of the reference page that a model may have and none of many has."""
    with open(reference, encoding="utf-8") as file:
        documented = set(re.findall(r"^### `(nn\.\w+)`", file.read(), re.MULTILINE))
    made = set()
    for number in range(models):
        model = Model(random.Random(f"operations {number}"))
        model.text()
        made |= model.operations
    # Gradients and parts of a rank are made of the others.
    return sorted(name for name in documented - made - set(LEFT_OUT)
                  if not re.search(r"_grad$|partial_", name))
