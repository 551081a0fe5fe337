#!/usr/bin/env python3
"""Writes optimizer.json: what torch.optim does, in f64.

Usage: optimizer.py > optimizer.json   (needs PyTorch)

All runs start from the same parameters and see the same gradients, which are
f32 values; each has the parameters after each step.
"""

import json

import torch

STEPS = 12
ELEMENTS = 24
DEFAULTS = {"rate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8,
            "weight_decay": 0.0, "momentum": 0.0, "nesterov": False}
RUNS = [
    ("zero.adamw", {}),
    ("zero.adamw", {"weight_decay": 0.1, "beta2": 0.95, "epsilon": 1e-5}),
    ("zero.adam", {}),
    ("zero.adam", {"weight_decay": 0.1, "beta1": 0.8}),
    ("zero.sgd", {}),
    ("zero.sgd", {"weight_decay": 0.1}),
    ("zero.sgd", {"weight_decay": 0.1, "momentum": 0.9}),
    ("zero.sgd", {"weight_decay": 0.1, "momentum": 0.9, "nesterov": True}),
]


def make(kernel, parameter, o):
    if kernel == "zero.sgd":
        return torch.optim.SGD([parameter], lr=o["rate"], momentum=o["momentum"],
                               nesterov=o["nesterov"], weight_decay=o["weight_decay"])
    rule = torch.optim.AdamW if kernel == "zero.adamw" else torch.optim.Adam
    return rule([parameter], lr=o["rate"], betas=(o["beta1"], o["beta2"]),
                eps=o["epsilon"], weight_decay=o["weight_decay"])


def main():
    generator = torch.Generator().manual_seed(5)
    normal = lambda: torch.randn(ELEMENTS, generator=generator)
    start = normal()
    gradients = [normal() * 10 ** -(step % 4) for step in range(STEPS)]
    runs = []
    for kernel, changes in RUNS:
        options = {**DEFAULTS, **changes}
        parameter = start.double().requires_grad_()
        optimizer = make(kernel, parameter, options)
        after = []
        for gradient in gradients:
            parameter.grad = gradient.double()
            optimizer.step()
            after.append(parameter.tolist())
        name = kernel + "".join(f" {key}={value}" for key, value in changes.items())
        runs.append({"name": name, "kernel": kernel, **options, "parameters": after})
    print(json.dumps({"start": start.tolist(),
                      "gradients": [g.tolist() for g in gradients], "runs": runs}))


if __name__ == "__main__":
    main()
