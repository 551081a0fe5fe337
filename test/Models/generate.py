#!/usr/bin/env python3
"""Prints the models of this folder, and the same architectures in other sizes.

  generate.py gpt --layers 4 --width 256 --heads 4 ...    GPT-2
  generate.py llama --layers 4 --key-heads 2 ...          Llama
  generate.py mlp --sizes 784,250,10                      a perceptron
  generate.py file gpt-small                              a file of this folder
  generate.py check                                       are the files up to date?
  generate.py write                                       write the files again

Needs the standard library only.
"""

import argparse
import math
import os
import sys
import textwrap

FILES = {
    "gpt-small": ["gpt"],
    "gpt2-124m": ["gpt", "--layers", "12", "--width", "768", "--heads", "12",
                  "--vocabulary", "50304", "--micro-batch", "1"],
    "llama-small": ["llama"],
    "mlp": ["mlp"],
    "tiny-gpt": ["gpt", "--layers", "2", "--width", "32", "--heads", "4",
                 "--sequence", "16", "--micro-batch", "2",
                 "--share", "mlp.c_fc.weight", "--freeze", "wpe.weight"],
    "tiny-llama": ["llama", "--layers", "2", "--width", "32", "--heads", "4",
                   "--key-heads", "2", "--hidden", "48", "--sequence", "16",
                   "--micro-batch", "2"],
    "moe-small": ["llama", "--experts", "4", "--chosen", "2"],
    "tiny-moe": ["llama", "--layers", "2", "--width", "32", "--heads", "4",
                 "--key-heads", "2", "--hidden", "48", "--sequence", "16",
                 "--micro-batch", "2", "--experts", "4", "--chosen", "2"],
    "tiny-capacity": ["llama", "--layers", "2", "--width", "32", "--heads", "4",
                      "--key-heads", "2", "--hidden", "48", "--sequence", "16",
                      "--micro-batch", "2", "--experts", "4", "--chosen", "2",
                      "--capacity", "10"],
    "tiny-mlp": ["mlp", "--sizes", "3,1", "--micro-batch", "2", "--no-bias",
                 "--regression"],
}


def tensor(*shape, element="f32"):
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


class Model:
    """Collects a module: its comment, type aliases, parameters and one step."""

    def __init__(self, comment):
        self.comment = comment
        self.aliases = {}     # name -> type
        self.parameters = {}  # name -> line
        self.body = []

    def alias(self, name, *shape, element="f32"):
        """The type under a name that is easier to read."""
        text = tensor(*shape, element=element)
        if self.aliases.setdefault(name, text) != text:
            raise ValueError(f"alias !{name} has two types")
        return "!" + name

    def parameter(self, name, type, init, decay=True, frozen=False):
        group = "" if decay else ' group "no_decay"'
        self.parameters[name] = (f"zero.parameter @{name} : {type} = #zero.{init}"
                                 f"{group}{' frozen' if frozen else ''}")

    def blank(self, comment):
        self.body += ["", f"  // {comment}"]

    def line(self, text):
        self.body.append("  " + text)

    def load(self, value, name, type):
        self.line(f"%{value} = zero.load @{name} : {type}")
        return f"%{value}"

    def text(self, arguments):
        lines = [f"// {line}".rstrip() for line in self.comment.splitlines()]
        lines.append("")
        lines += [f"!{name} = {type}" for name, type in self.aliases.items()]
        lines.append("")
        lines += self.parameters.values()
        lines += ["", "zero.step @train(" + ", ".join(
            f'%{name}: {type} {{zero.input = "{name}"}}'
            for name, type in arguments) + ") {"]
        first = self.body[1:] if self.body[0] == "" else self.body
        return "\n".join(lines + first + ["}"]) + "\n"


def normal(std):
    return f"normal<std = {std!r}>"


def described(text, command):
    """A comment block: the text, and how the file was made."""
    return textwrap.fill(text, 77) + "\n\nMade by: generate.py " + " ".join(command)


class Transformer(Model):
    """What GPT-2 and Llama have in common; names of values start with the
    layer's prefix, names of parameters follow the published checkpoints."""

    def __init__(self, args, comment):
        super().__init__(comment)
        self.args = args
        self.b, self.t, self.d = args.micro_batch, args.sequence, args.width
        self.v, self.h = args.vocabulary, args.heads
        self.head = self.d // self.h
        if self.d % self.h:
            sys.exit(f"the width {self.d} is not divisible by {self.h} heads")
        self.dropouts = 0
        self.tokens = self.alias("tokens", self.b, self.t, element="i32")
        self.residual = self.alias("residual", self.b, self.t, self.d)
        self.rows = self.alias("rows", self.b, self.t)
        self.heads = self.alias("heads", self.b, self.t, self.h, self.head)
        self.lse = self.alias("lse", self.b, self.h, self.t)
        self.vector = self.alias("vector", self.d)

    def declare(self, name, type, init, decay=True):
        self.parameter(name, type, init, decay, name in self.args.freeze)

    def weight_name(self, layer, name, pattern):
        """The parameter of `layer`; a shared one is that of layer 0."""
        return pattern.format(0 if name in self.args.share else layer, name)

    def dropout(self, value, x, type):
        if not self.args.dropout:
            return x
        self.line(f"%{value} = nn.dropout {x} p {self.args.dropout!r} "
                  f"id {self.dropouts} : {type}")
        self.dropouts += 1
        return f"%{value}"

    def to_heads(self, value, x, heads, narrow, wide):
        self.line(f"%{value} = tensor.expand_shape {x} [[0], [1], [2, 3]] output_shape "
                  f"[{self.b}, {self.t}, {heads}, {self.head}] : {narrow} into {wide}")
        return f"%{value}"

    def from_heads(self, value, x):
        self.line(f"%{value} = tensor.collapse_shape {x} [[0], [1], [2, 3]] : "
                  f"{self.heads} into {self.residual}")
        return f"%{value}"

    def attention(self, prefix, q, k, v, keys):
        scale = 1 / math.sqrt(self.head)
        dropout = ""
        if self.args.dropout:
            dropout = f" dropout {self.args.dropout!r} id {self.dropouts}"
            self.dropouts += 1
        self.line(f"%{prefix}_att, %{prefix}_lse = nn.attention {q}, {k}, {v} causal "
                  f"scale {scale!r}{dropout} : ({self.heads}, {keys}, {keys}) -> "
                  f"({self.heads}, {self.lse})")
        return f"%{prefix}_att"

    def add(self, value, a, b):
        self.line(f"%{value} = arith.addf {a}, {b} : {self.residual}")
        return f"%{value}"

    def loss(self, hidden, table, table_type):
        logits = self.alias("logits", self.b, self.t, self.v)
        self.line(f"%logits = nn.linear {hidden}, {table} transposed : "
                  f"({self.residual}, {table_type}) -> {logits}")
        self.line(f"%loss, %lse = nn.cross_entropy %logits, %targets : "
                  f"({logits}, {self.tokens}) -> (tensor<f32>, {self.rows})")
        self.line(f'zero.yield %loss, %logits outputs ["logits"] : '
                  f"tensor<f32>, {logits}")
        return self.text([("tokens", self.tokens), ("targets", self.tokens)])


class Gpt(Transformer):
    """GPT-2: weights are stored [in, out], as the published checkpoints do."""

    def __init__(self, args, command):
        text = (f"GPT-2: {args.layers} layers of width {args.width}, {args.heads} heads, "
                f"vocabulary {args.vocabulary}, sequences of {args.sequence}, micro-batches "
                f"of {args.micro_batch}. Learned positions, biases everywhere, GELU by tanh, "
                "layer norm before each block; the output projection is the token embedding.")
        if args.share:
            text += f" Layers share {', '.join(args.share)}, declared with layer 0."
        if args.freeze:
            text += f" Frozen: {', '.join(args.freeze)}."
        super().__init__(args, described(text, command))

    def linear(self, value, name, layer, x, x_type, inner, outer, y_type, std):
        """`x` times a weight plus a bias, both parameters of `layer`."""
        w = self.alias(f"w{inner}x{outer}", inner, outer)
        b = self.alias(f"w{outer}", outer) if outer != self.d else self.vector
        weight, bias = (self.weight_name(layer, f"{name}.{part}", "h.{}.{}")
                        for part in ("weight", "bias"))
        if weight not in self.parameters:
            self.declare(weight, w, normal(std))
        if bias not in self.parameters:
            self.declare(bias, b, "zeros", decay=False)
        self.load(value + "_w", weight, w)
        self.load(value + "_b", bias, b)
        self.line(f"%{value} = nn.linear {x}, %{value}_w bias %{value}_b : "
                  f"({x_type}, {w}, {b}) -> {y_type}")
        return f"%{value}"

    def norm(self, value, name, x):
        self.declare(name + ".weight", self.vector, "ones", decay=False)
        self.declare(name + ".bias", self.vector, "zeros", decay=False)
        self.load(value + "_w", name + ".weight", self.vector)
        self.load(value + "_b", name + ".bias", self.vector)
        self.line(f"%{value}, %{value}_mean, %{value}_rstd = nn.layer_norm {x}, "
                  f"%{value}_w, %{value}_b eps 1.0e-5 : ({self.residual}, {self.vector}, "
                  f"{self.vector}) -> ({self.residual}, {self.rows}, {self.rows})")
        return f"%{value}"

    def layer(self, index, x):
        p, d = f"h{index}", self.d
        projection = 0.02 / math.sqrt(2 * self.args.layers)
        self.blank(f"layer {index}: attention")
        n = self.norm(p + "_n1", f"h.{index}.ln_1", x)
        qkv_type = self.alias("qkv", self.b, self.t, 3 * d)
        qkv = self.linear(p + "_qkv", "attn.c_attn", index, n, self.residual, d, 3 * d,
                          qkv_type, 0.02)
        r = self.residual
        self.line(f"%{p}_q, %{p}_k, %{p}_v = nn.split {qkv} dim 2 sizes [{d}, {d}, {d}] : "
                  f"({qkv_type}) -> ({r}, {r}, {r})")
        q, k, v = (self.to_heads(f"{p}_{n}h", f"%{p}_{n}", self.h, r, self.heads)
                   for n in "qkv")
        a = self.from_heads(p + "_cat", self.attention(p, q, k, v, self.heads))
        a = self.linear(p + "_proj", "attn.c_proj", index, a, r, d, d, r, projection)
        x = self.add(p + "_x1", x, self.dropout(p + "_drop1", a, r))
        self.blank(f"layer {index}: perceptron")
        n = self.norm(p + "_n2", f"h.{index}.ln_2", x)
        wide = self.alias("wide", self.b, self.t, 4 * d)
        f = self.linear(p + "_fc", "mlp.c_fc", index, n, r, d, 4 * d, wide, 0.02)
        self.line(f"%{p}_act = nn.gelu tanh {f} : {wide}")
        m = self.linear(p + "_out", "mlp.c_proj", index, f"%{p}_act", wide, 4 * d, d, r,
                        projection)
        return self.add(p + "_x2", x, self.dropout(p + "_drop2", m, r))

    def build(self):
        table = self.alias("table", self.v, self.d)
        places = self.alias("places", self.t, self.d)
        self.declare("wte.weight", table, normal(0.02))
        self.declare("wpe.weight", places, normal(0.02))
        self.blank("tokens and positions")
        wte = self.load("wte", "wte.weight", table)
        self.load("wpe", "wpe.weight", places)
        self.line(f"%token = nn.embedding %tokens, {wte} : ({self.tokens}, {table}) -> "
                  f"{self.residual}")
        self.line(f"%place = nn.broadcast %wpe dims [1, 2] : ({places}) -> {self.residual}")
        x = self.dropout("drop", self.add("x", "%token", "%place"), self.residual)
        for index in range(self.args.layers):
            x = self.layer(index, x)
        self.blank("next token")
        x = self.norm("nf", "ln_f", x)
        return self.loss(x, self.load("head", "wte.weight", table), table)


class Llama(Transformer):
    """Llama: weights are stored [out, in], as the published checkpoints do."""

    def __init__(self, args, command):
        super().__init__(args, described(
            f"Llama: {args.layers} layers of width {args.width}, {args.heads} query and "
            f"{args.key_heads} key heads, perceptrons of {args.hidden}, vocabulary "
            f"{args.vocabulary}, sequences of {args.sequence}, micro-batches of "
            f"{args.micro_batch}. RMS norm, rotary positions, SwiGLU, no biases, an output "
            "projection of its own."
            + (f" Each layer has {args.experts} experts, as Mixtral's, of which a token takes "
               f"{args.chosen}." if args.experts else "")
            + (f" An expert has {args.capacity} places for tokens; what finds none is "
               "dropped." if args.capacity else ""), command))
        self.key_width = self.head * args.key_heads
        self.narrow = self.alias("narrow", self.b, self.t, self.key_width)
        self.keys = self.alias("keys", self.b, self.t, args.key_heads, self.head)
        if not args.experts:
            self.wide = self.alias("wide", self.b, self.t, args.hidden)

    def linear(self, value, layer, name, x, x_type, inner, outer, y_type):
        w = self.alias(f"w{outer}x{inner}", outer, inner)
        weight = self.weight_name(layer, name, "model.layers.{}.{}")
        if weight not in self.parameters:
            self.declare(weight, w, normal(0.02))
        self.load(value + "_w", weight, w)
        self.line(f"%{value} = nn.linear {x}, %{value}_w transposed : ({x_type}, {w}) -> "
                  f"{y_type}")
        return f"%{value}"

    def norm(self, value, name, x):
        self.declare(name, self.vector, "ones", decay=False)
        self.load(value + "_w", name, self.vector)
        self.line(f"%{value}, %{value}_rstd = nn.rms_norm {x}, %{value}_w eps 1.0e-5 : "
                  f"({self.residual}, {self.vector}) -> ({self.residual}, {self.rows})")
        return f"%{value}"

    def rotated(self, value, x, type):
        self.line(f"%{value} = nn.rotary {x} theta 10000.0 : {type}")
        return f"%{value}"

    def projections(self, p, index, n):
        d, r, keys, narrow = self.d, self.residual, self.key_width, self.narrow
        if not self.args.joint:
            return [self.linear(f"{p}_{name}", index, f"self_attn.{name}_proj.weight", n, r, d,
                                width, type)
                    for name, width, type in (("q", d, r), ("k", keys, narrow),
                                              ("v", keys, narrow))]
        joint = self.alias("joint", self.b, self.t, d + 2 * keys)
        x = self.linear(f"{p}_qkv", index, "self_attn.qkv_proj.weight", n, r, d, d + 2 * keys,
                        joint)
        self.line(f"%{p}_q, %{p}_k, %{p}_v = nn.split {x} dim 2 sizes [{d}, {keys}, {keys}] : "
                  f"({joint}) -> ({r}, {narrow}, {narrow})")
        return f"%{p}_q", f"%{p}_k", f"%{p}_v"

    def grouped(self, value, layer, name, x, x_type, inner, outer, y_type):
        """`x`, sorted by experts or in their places, times a matrix of each."""
        w = self.alias(f"w{self.args.experts}x{outer}x{inner}", self.args.experts, outer, inner)
        weight = self.weight_name(layer, name, "model.layers.{}.{}")
        if weight not in self.parameters:
            self.declare(weight, w, normal(0.02))
        self.load(value + "_w", weight, w)
        ends = self.alias("ends", self.args.experts, element="i32")
        if self.args.capacity:
            self.line(f"%{value} = nn.matmul {x}, %{value}_w transpose_b : ({x_type}, {w}) -> "
                      f"{y_type}")
        else:
            self.line(f"%{value} = nn.grouped_matmul {x}, %{value}_w offsets %l{layer}_ends "
                      f"transpose_b : ({x_type}, {w}, {ends}) -> {y_type}")
        return f"%{value}"

    def dispatched(self, p, flat, ids, sent, ends):
        """The chosen rows in the order of their experts; with a capacity, in the places that
        each expert has."""
        if self.args.capacity:
            self.line(f"%{p}_sent, %{p}_places, %{p}_counts = nn.capacity_dispatch %{p}_flat, "
                      f"%{p}_ids : ({flat}, {ids}) -> ({sent}, {ids}, {ends})")
        else:
            self.line(f"%{p}_sent, %{p}_places, %{p}_ends = nn.dispatch %{p}_flat, %{p}_ids "
                      f"experts {self.args.experts} : ({flat}, {ids}) -> ({sent}, {ids}, {ends})")

    def experts(self, p, index, n):
        """The chosen experts of each token, whose softmax among all is divided by the sum
        of those that are chosen."""
        d, r, hidden = self.d, self.residual, self.args.hidden
        count, chosen, tokens = self.args.experts, self.args.chosen, self.b * self.t
        flat = self.alias("flat", tokens, d)
        scores = self.alias("scores", tokens, count)
        ids = self.alias("choices", tokens, chosen, element="i32")
        weights = self.alias("shares", tokens, chosen)
        rows = self.alias("each", tokens)
        ends = self.alias("ends", count, element="i32")
        places = [count, self.args.capacity] if self.args.capacity else [tokens * chosen]
        sent = self.alias("sent", *places, d)
        wide = self.alias("sent_wide", *places, hidden)
        both = self.alias("sent_both", *places, 2 * hidden)
        self.line(f"%{p}_flat = tensor.collapse_shape {n} [[0, 1], [2]] : {r} into {flat}")
        s = self.linear(p + "_router", index, "mlp.gate.weight", f"%{p}_flat", flat, d, count,
                        scores)
        self.line(f"%{p}_soft = nn.softmax {s} : {scores}")
        self.line(f"%{p}_ids = nn.argsort %{p}_soft descending first {chosen} : "
                  f"{scores} -> {ids}")
        self.line(f"%{p}_top = nn.gather %{p}_soft, %{p}_ids dim 1 : ({scores}, {ids}) -> "
                  f"{weights}")
        self.line(f"%{p}_sum = nn.reduce sum %{p}_top dims [1] : ({weights}) -> {rows}")
        self.line(f"%{p}_sums = nn.broadcast %{p}_sum dims [0] : ({rows}) -> {weights}")
        self.line(f"%{p}_share = arith.divf %{p}_top, %{p}_sums : {weights}")
        self.dispatched(p, flat, ids, sent, ends)
        b = self.grouped(p + "_both", index, "mlp.experts.gate_up_proj", f"%{p}_sent", sent, d,
                         2 * hidden, both)
        self.line(f"%{p}_gate, %{p}_up = nn.split {b} dim {len(places)} sizes [{hidden}, {hidden}] : "
                  f"({both}) -> ({wide}, {wide})")
        self.line(f"%{p}_act = nn.silu_mul %{p}_gate, %{p}_up : {wide}")
        m = self.grouped(p + "_down", index, "mlp.experts.down_proj", f"%{p}_act", wide, hidden,
                         d, sent)
        if self.args.capacity:
            rows = self.alias("sent_rows", math.prod(places), d)
            self.line(f"%{p}_rows = tensor.collapse_shape {m} [[0, 1], [2]] : {sent} into {rows}")
            m, sent = f"%{p}_rows", rows
        self.line(f"%{p}_back = nn.combine {m}, %{p}_places weights %{p}_share : "
                  f"({sent}, {ids}, {weights}) -> {flat}")
        self.line(f"%{p}_moe = tensor.expand_shape %{p}_back [[0, 1], [2]] output_shape "
                  f"[{self.b}, {self.t}, {d}] : {flat} into {r}")
        return f"%{p}_moe"

    def layer(self, index, x):
        p, d, r = f"l{index}", self.d, self.residual
        at = f"model.layers.{index}."
        self.blank(f"layer {index}: attention")
        n = self.norm(p + "_n1", at + "input_layernorm.weight", x)
        q, k, v = self.projections(p, index, n)
        q = self.to_heads(p + "_qh", q, self.h, r, self.heads)
        k = self.to_heads(p + "_kh", k, self.args.key_heads, self.narrow, self.keys)
        v = self.to_heads(p + "_vh", v, self.args.key_heads, self.narrow, self.keys)
        q = self.rotated(p + "_qr", q, self.heads)
        k = self.rotated(p + "_kr", k, self.keys)
        a = self.from_heads(p + "_cat", self.attention(p, q, k, v, self.keys))
        a = self.linear(p + "_o", index, "self_attn.o_proj.weight", a, r, d, d, r)
        x = self.add(p + "_x1", x, self.dropout(p + "_drop1", a, r))
        self.blank(f"layer {index}: perceptron")
        n = self.norm(p + "_n2", at + "post_attention_layernorm.weight", x)
        if self.args.experts:
            m = self.experts(p, index, n)
            return self.add(p + "_x2", x, self.dropout(p + "_drop2", m, r))
        hidden, wide = self.args.hidden, self.wide
        g = self.linear(p + "_gate", index, "mlp.gate_proj.weight", n, r, d, hidden, wide)
        u = self.linear(p + "_up", index, "mlp.up_proj.weight", n, r, d, hidden, wide)
        self.line(f"%{p}_silu = nn.silu {g} : {wide}")
        self.line(f"%{p}_act = arith.mulf %{p}_silu, {u} : {wide}")
        m = self.linear(p + "_down", index, "mlp.down_proj.weight", f"%{p}_act", wide, hidden,
                        d, r)
        return self.add(p + "_x2", x, self.dropout(p + "_drop2", m, r))

    def build(self):
        table = self.alias("table", self.v, self.d)
        self.declare("model.embed_tokens.weight", table, normal(0.02))
        self.blank("tokens")
        embed = self.load("embed", "model.embed_tokens.weight", table)
        self.line(f"%x = nn.embedding %tokens, {embed} : ({self.tokens}, {table}) -> "
                  f"{self.residual}")
        x = self.dropout("drop", "%x", self.residual)
        for index in range(self.args.layers):
            x = self.layer(index, x)
        self.blank("next token")
        x = self.norm("nf", "model.norm.weight", x)
        self.declare("lm_head.weight", table, normal(0.02))
        return self.loss(x, self.load("head", "lm_head.weight", table), table)


class Mlp(Model):
    def __init__(self, args, command):
        kind = ("the mean squared error to a target" if args.regression
                else "a softmax over the last layer")
        super().__init__(described(
            f"A perceptron of sizes {', '.join(map(str, args.sizes))}, GELU between the "
            f"layers, {kind}; micro-batches of {args.micro_batch}.", command))
        self.args = args

    def layer(self, index, x):
        inner, outer = self.args.sizes[index - 1:index + 1]
        b = self.args.micro_batch
        source, target = self.alias(f"a{inner}", b, inner), self.alias(f"a{outer}", b, outer)
        w = self.alias(f"w{inner}x{outer}", inner, outer)
        self.parameter(f"fc{index}.w", w, normal(0.02))
        self.load(f"w{index}", f"fc{index}.w", w)
        bias, types = "", f"{source}, {w}"
        if not self.args.no_bias:
            v = self.alias(f"w{outer}", outer)
            self.parameter(f"fc{index}.b", v, "zeros", decay=False)
            bias, types = " bias " + self.load(f"b{index}", f"fc{index}.b", v), f"{types}, {v}"
        self.line(f"%h{index} = nn.linear {x}, %w{index}{bias} : ({types}) -> {target}")
        if index == len(self.args.sizes) - 1:
            return f"%h{index}", target
        self.line(f"%g{index} = nn.gelu tanh %h{index} : {target}")
        return f"%g{index}", target

    def build(self):
        b, sizes = self.args.micro_batch, self.args.sizes
        source = self.alias(f"a{sizes[0]}", b, sizes[0])
        x, type = "%x", source
        for index in range(1, len(sizes)):
            x, type = self.layer(index, x)
        if self.args.regression:
            self.line(f"%d = arith.subf {x}, %y : {type}")
            self.line(f"%s = arith.mulf %d, %d : {type}")
            self.line(f"%loss = nn.reduce mean %s dims [0, 1] : ({type}) -> tensor<f32>")
            self.line(f'zero.yield %loss, {x} outputs ["prediction"] : tensor<f32>, {type}')
            return self.text([("x", source), ("y", type)])
        labels = self.alias("labels", b, element="i32")
        rows = self.alias("rows", b)
        self.line(f"%loss, %lse = nn.cross_entropy {x}, %y : ({type}, {labels}) -> "
                  f"(tensor<f32>, {rows})")
        self.line(f'zero.yield %loss, {x} outputs ["logits"] : tensor<f32>, {type}')
        return self.text([("x", source), ("y", labels)])


def add_transformer(parser):
    for flag, value in (("layers", 4), ("width", 256), ("heads", 4), ("vocabulary", 256),
                        ("sequence", 256), ("micro-batch", 4)):
        parser.add_argument("--" + flag, type=int, default=value)
    parser.add_argument("--dropout", type=float, default=0.0,
                        help="probability, after the embedding and each block, and of weights")
    parser.add_argument("--share", action="append", default=[], metavar="NAME",
                        help="a parameter of a layer that all layers use")
    parser.add_argument("--freeze", action="append", default=[], metavar="NAME",
                        help="a parameter that is not trained")


def parse(command):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    add_transformer(kinds.add_parser("gpt"))
    llama = kinds.add_parser("llama")
    add_transformer(llama)
    llama.add_argument("--key-heads", type=int, default=2)
    llama.add_argument("--hidden", type=int, default=688)
    llama.add_argument("--joint", action="store_true",
                       help="one projection for queries, keys and values, as Phi-3's")
    llama.add_argument("--experts", type=int, default=0,
                       help="perceptrons of each layer, of which a token takes some")
    llama.add_argument("--chosen", type=int, default=2, help="how many")
    llama.add_argument("--capacity", type=int, default=0,
                       help="places of each expert; 0: as many as tokens take it")
    mlp = kinds.add_parser("mlp")
    mlp.add_argument("--sizes", default="784,250,10")
    mlp.add_argument("--micro-batch", type=int, default=32)
    mlp.add_argument("--no-bias", action="store_true")
    mlp.add_argument("--regression", action="store_true")
    kinds.add_parser("file").add_argument("name", choices=FILES)
    kinds.add_parser("check")
    kinds.add_parser("write")
    args = parser.parse_args(command)
    if args.kind == "mlp":
        args.sizes = [int(size) for size in args.sizes.split(",")]
    return args


def generate(command):
    args = parse(command)
    return {"gpt": Gpt, "llama": Llama, "mlp": Mlp}[args.kind](args, command).build()


def path_of(name):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".mlir")


def check():
    """Compares the committed files with what this script prints."""
    stale = []
    for name, command in FILES.items():
        with open(path_of(name)) as file:
            if file.read() != generate(command):
                stale.append(name)
    if stale:
        sys.exit(f"not what generate.py prints: {', '.join(stale)}; run generate.py write")
    print(f"{len(FILES)} models are up to date")


def main():
    args = parse(sys.argv[1:])
    if args.kind == "check":
        check()
    elif args.kind == "write":
        for name, command in FILES.items():
            with open(path_of(name), "w") as file:
                file.write(generate(command))
    elif args.kind == "file":
        sys.stdout.write(generate(FILES[args.name]))
    else:
        sys.stdout.write(generate(sys.argv[1:]))


if __name__ == "__main__":
    main()
