#!/usr/bin/env python3
"""Memory of each state and traffic, against the closed forms.

Usage: train_memory.py <folder> <precision> <accumulation>

What a rank holds of S trainable elements with n ranks, p bytes a compute
parameter, g a stored gradient, k of optimizer state (frozen ones: p):

  stage 0: p S, g S, k S      stage 2: p S, g S/n, k S/n
  stage 1: p S, g S, k S/n    stage 3: p S/n, g S/n, k S/n

Elements that a rank sends in an update of A micro-batches, times (n-1)/n:

  stage 0: 2S    stage 1: 2S    stage 2: (A+1) S
  stage 3: A S + A (what forward and backward gather)

and in deterministic runs, which reduce every micro-batch at every stage,

  stage 0: 2AS   stage 1: (A+1) S

Padding comes on top, and is stated here: a group (trained with decay, trained
without, frozen) is one bucket in these runs, padded to 128 elements (stage 0)
or 128 a rank (stages 1 and 2); at stage 3 every parameter is padded to 16
bytes a rank. What is not cut has no padding. Buffers begin at 64 bytes.
"""

import re

from training import ELEMENT_BYTES, Setup, arguments, check, execute

ALIGNMENT, BUFFER = 128, 64


def round_up(value, multiple):
    return -(-value // multiple) * multiple


class Model:
    """Parameters and their uses, read from the text of a model."""

    def __init__(self, path):
        with open(path) as file:
            lines = file.read().splitlines()
        shapes, values = {}, {}
        self.sizes, self.groups, self.forward, self.backward = {}, {}, [], []
        for line in lines:
            if match := re.match(r"!(\w+) = tensor<([\dx]*)x\w+>", line):
                product = 1
                for size in match[2].split("x"):
                    product *= int(size)
                shapes[match[1]] = product
            elif match := re.match(r"zero\.parameter @(\S+) : !(\w+) = (.*)", line):
                self.sizes[match[1]] = shapes[match[2]]
                group = ("frozen" if match[3].endswith("frozen") else
                         "no_decay" if "no_decay" in match[3] else "decay")
                self.groups.setdefault(group, []).append(match[1])
            elif match := re.match(r"\s*%(\w+) = zero\.load @(\S+) :", line):
                values[match[1]] = match[2]
            else:
                self.use(line, values)

    def use(self, line, values):
        """A line of the step: which parameters it, and its gradient, read."""
        read = [values[name] for name in re.findall(r"%(\w+)", line.partition("=")[2])
                if name in values]
        self.forward += read
        # The gradients of sums read no parameter, nor does that of a lookup.
        if "nn.linear" in line or "nn.layer_norm" in line or "nn.rms_norm" in line:
            self.backward.insert(0, read[0])

    def gathered(self, setup):
        """Elements that forward and backward gather, padded; a parameter that
        is used twice with no other in between is gathered once."""
        total, last = 0, None
        for name in self.forward + self.backward:
            if name != last:
                total += padded_parameter(self.sizes[name], setup)
            last = name
        return total


def padded_parameter(size, setup):
    return round_up(size, setup.slices * 16 // ELEMENT_BYTES[setup.precision])


def packed_bytes(elements, bits, block):
    """Of a quantized slice: integers, scales from a multiple of 4 bytes on, to a multiple
    of 16."""
    integers = -(-elements * bits // 8)
    scales = 4 * -(-elements // block)
    return round_up(round_up(integers, 4) + scales, 16)


def padded_group(model, group, setup):
    names = model.groups[group]
    if setup.stage == 3 and setup.ranks > 1:
        return sum(padded_parameter(model.sizes[name], setup) for name in names)
    whole = setup.stage == 0 or setup.ranks == 1 or group == "frozen"
    return round_up(sum(model.sizes[name] for name in names),
                    ALIGNMENT * (1 if whole else setup.slices))


def arena(buffers):
    """Bytes of buffers one after the other."""
    end = 0
    for size in buffers:
        end = round_up(end, BUFFER) + size
    return end


def state_bytes(setup):
    """Bytes an element: compute parameter, gradient, optimizer's buffers. A split
    master keeps the 2 bytes that its bf16 parameter has not."""
    p = ELEMENT_BYTES[setup.precision]
    g = 4 if setup.accumulation > 1 else p
    master = [] if setup.precision == "f32" else [2 if setup.options.get("split_master") else 4]
    return p, g, master + [4, 4]


def expected_memory(model, setup):
    """Bytes of a rank by arena, and by the formula without padding."""
    n, (p, g, k) = setup.slices, state_bytes(setup)
    parameters, gradients, optimizer = [], [], []
    plain = {"parameters": 0.0, "gradients": 0.0, "optimizer": 0.0}
    for group, names in model.groups.items():
        padded, exact = padded_group(model, group, setup), sum(map(model.sizes.get, names))
        cut = [n if setup.stage >= least else 1 for least in (3, 2, 1)]
        parameters.append(padded // cut[0] * p)
        plain["parameters"] += exact * p / cut[0]
        if group == "frozen":
            continue
        gradients.append(padded // cut[1] * g)
        optimizer += [padded // cut[2] * size for size in k]
        plain["gradients"] += exact * g / cut[1]
        plain["optimizer"] += exact * sum(k) / cut[2]
    found = {"parameters": arena(parameters), "gradients": arena(gradients),
             "optimizer": arena(optimizer)}
    return found, plain


def expected_traffic(model, setup):
    """Elements that a rank sends over the ranks that states are cut over, by class."""
    n, a = setup.slices, setup.accumulation
    padded = sum(padded_group(model, group, setup) for group in model.groups
                 if group != "frozen")
    share = (n - 1) / n
    reductions = a if setup.stage >= 2 or setup.deterministic else 1
    if setup.stage == 0:
        return {"gradient": 2 * reductions * padded * share, "parameter": 0}
    gathered = a * model.gathered(setup) if setup.stage == 3 else padded
    return {"gradient": reductions * padded * share, "parameter": gathered * share}


def compare(folder, setup):
    model = Model(setup.model_file())
    run = execute(folder, setup, weights=None, steps=2, save=False)
    memory, plain = expected_memory(model, setup)
    for update in run.updates:
        for name, wanted in memory.items():
            found = update["memory"][name]
            check(found == wanted, f"{setup.name}: {name} hold {found} bytes, wanted {wanted} "
                  f"({plain[name]:.0f} and padding)")
        for name, wanted in expected_traffic(model, setup).items():
            found = update["traffic"][name]["elements"]
            check(abs(found - wanted) < 0.5, f"{setup.name}: a rank sends {found} elements of "
                  f"class {name}, wanted {wanted}")
    print(setup.name, *(f"{name} {memory[name]} = {plain[name]:.0f} + "
                        f"{memory[name] - plain[name]:.0f}," for name in memory), "traffic ok")


def main():
    folder, precision, accumulation = arguments("precision", "accumulation")
    for ranks in (1, 2, 3, 4):
        for stage in range(4):
            compare(folder, Setup(stage, ranks, precision, int(accumulation)))
    for stage in range(4):
        compare(folder, Setup(stage, 3, precision, int(accumulation), True))
        if precision == "bf16":
            compare(folder, Setup(stage, 3, precision, int(accumulation), split_master=True))
    compare(folder, Setup(3, 3, precision, int(accumulation), model="tiny-llama.mlir"))
    print("ok")


if __name__ == "__main__":
    main()
