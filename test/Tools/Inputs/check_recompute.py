"""Activations of a rank that plans need with and without recomputation.

Usage: check_recompute.py <model.mlir>     against bounds for one model
       check_recompute.py <model.mlir>...  models of 4 times as many layers each:
                                           the least bytes grow as the root of
                                           the layers, without recomputation as
                                           the layers
"""

import json
import subprocess
import sys


def plan(model, options=""):
    """Bytes of activations, and operations that are recomputed, of all."""
    done = subprocess.run(
        ["zero-plan", model, "--stage", "2", "--ranks", "4", "--json", "-", "--pipeline",
         "precision=bf16 " + options], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    again = found["recomputed_in_a_micro_batch"]
    return (found["memory"]["activations"]["bytes"],
            again["flops"] / (again["flops_of_all"] - again["flops"]))


def check_one(model):
    kept, _ = plan(model)
    everything, cost = plan(model, "checkpoint-activations=1")
    cheap, little = plan(model, "checkpoint-activations=1 checkpoint-policy=cheap")
    half, part = plan(model, "checkpoint-layers=0,1")
    print(f"{kept} kept, {cheap} with cheap ones, {half} with two layers, {everything} with all "
          f"recomputed: {cost:.3f} of the operations")
    assert everything < 0.4 * kept < cheap < 0.8 * kept
    assert everything < half < kept
    # The forward is a third; the last product of each layer need not be repeated.
    assert 0.15 < cost < 1 / 3 and 0 < part < cost and 0 < little < 0.01


def check_growth(models):
    least, kept = [], []
    for model in models:
        kept.append(plan(model)[0])
        least.append(min((plan(model, f"checkpoint-activations={every}")[0], every)
                         for every in (1, 2, 3, 4, 6, 8)))
        print(f"{model}: {kept[-1]} kept, {least[-1][0]} with {least[-1][1]} layers together")
    for (a, few), (b, more) in zip(least, least[1:]):
        assert b < 2.5 * a and more >= few, "the least bytes grow faster than the root"
    assert kept[-1] > 3.5 * kept[-2] and least[-1][1] > 1
    assert least[-1][0] < kept[-1] / 8


if len(sys.argv) == 2:
    check_one(sys.argv[1])
else:
    check_growth(sys.argv[1:])
