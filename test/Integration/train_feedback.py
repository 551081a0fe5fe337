#!/usr/bin/env python3
"""Stage 3 with error feedback of quantized gradients: LoCo.

Usage: train_feedback.py <folder> <precision> <ranks> <bits> <within> <kind>

`within` are the ranks of a node, in which gradients are added up first; 1: there is one
exchange. `kind` is in-process or mpi. What is fed back changes the gradients, and runs
with overlap, recomputed activations, offload, a secondary partition and more threads
are bitwise equal. Errors that begin anew with each micro-batch are none: such a run is
bitwise equal to one without feedback. A rank's memory of gradients has the errors, two bytes
for each element that it quantizes. Checkpoints leave them out: where all begin anew, a
run that is resumed is bitwise equal to one that went on.
"""

import os
import shutil

from train_memory import Model, arena, padded_group, state_bytes
from training import Setup, arguments, check, close, difference, execute, variants

STEPS = 6
RESET = 3


def feedback(beta=0.8, reset=1024):
    return {"zeropp_loco_param": {"err_beta": beta, "reset_T": reset}}


def expected_gradients(model, setup, within):
    """Bytes of gradients that a rank holds: slices, all errors, those of sums."""
    buffers = []
    for group in model.groups:
        if group == "frozen":
            continue
        elements = padded_group(model, group, setup)
        sums = [elements // within * 2] if within > 1 else []
        # In the order of their names.
        buffers += [elements // setup.ranks * state_bytes(setup)[1], elements * 2, *sums]
    return arena(buffers)


def check_equal(what, run, wanted):
    found = difference(run, wanted)
    check(found is None, f"{what}: {found}")
    print(what + ": equal")


def check_schedules(folder, common, options, first, mpi):
    within = options["quantized_gradients_within"]
    for name, more in variants(folder, node=within).items():
        other = Setup(*common, **options, **more)
        check_equal(f"{name}, {other.name}",
                    execute(folder, other, steps=STEPS, mpi=mpi, threads=2), first)


def check_reset(folder, common, quantized, mpi):
    """One micro-batch an update, each of which begins anew."""
    common = (*common[:3], 1, True)
    plain = Setup(*common, **quantized)
    fresh = Setup(*common, **quantized, **feedback(reset=1))
    check_equal(f"without errors, {fresh.name}", execute(folder, fresh, steps=STEPS, mpi=mpi),
                execute(folder, plain, steps=STEPS, mpi=mpi))


def check_resume(folder, common, quantized, mpi):
    setup = Setup(*common, **quantized, **feedback(reset=RESET))
    wanted = execute(folder, setup, steps=STEPS, mpi=mpi, tag="-whole")
    saved = os.path.join(folder, "checkpoints")
    shutil.rmtree(saved, ignore_errors=True)
    options = ("--validation-fraction", "0", "--checkpoint", saved, "--checkpoint-every",
               str(RESET))
    execute(folder, setup, steps=RESET, mpi=mpi, arguments=options, tag="-first")
    rest = execute(folder, setup, steps=STEPS, mpi=mpi, arguments=(*options, "--resume"),
                   tag="-rest")
    check("remark: what quantized gradients have lost before is not fed back" in rest.output,
          "nothing is said of the errors")
    wanted.updates = wanted.updates[RESET:]
    check_equal(f"resumed where errors begin anew, {setup.name}", rest, wanted)


def main():
    folder, precision, ranks, bits, within, kind = arguments(
        "precision", "ranks", "bits", "within", "kind")
    ranks, bits, within, mpi = int(ranks), int(bits), int(within), kind == "mpi"
    common = (3, ranks, precision, 2, True)
    quantized = {"zero_quantized_gradients": True, "quantized_gradients_bits": bits,
                 "quantization_block": 16, "quantized_gradients_within": within}
    if precision == "f16":
        # Some updates overflow and are skipped, and the scale goes down and up.
        quantized.update(initial_scale_power=18, hysteresis=1, loss_scale_window=1)
    options = {**quantized, **feedback()}
    setup = Setup(*common, **options)
    first = execute(folder, setup, steps=STEPS, threads=1)
    if mpi:
        check_equal("as processes", execute(folder, setup, steps=STEPS, mpi=True), first)
    plain = execute(folder, Setup(*common, **quantized), steps=STEPS, mpi=mpi)
    check(first.column("loss")[0] == plain.column("loss")[0], "first losses differ")
    check(difference(first, plain) is not None, f"{setup.name}: nothing is fed back")
    close("losses beside those without feedback", first.column("loss"), plain.column("loss"),
          5e-2)
    skipped = first.column("skipped")
    check(any(skipped) == (precision == "f16"), f"skipped: {skipped}")
    check(len(set(first.column("loss_scale"))) >= (3 if precision == "f16" else 1),
          f"loss scales are {first.column('loss_scale')}")
    model = Model(setup.model_file())
    for update in first.updates:
        found, wanted = update["memory"]["gradients"], expected_gradients(model, setup, within)
        check(found == wanted, f"{setup.name}: gradients hold {found} bytes, wanted {wanted}")
    check_schedules(folder, common, options, first, mpi)
    check_reset(folder, common, quantized, mpi)
    check_resume(folder, common, quantized, mpi)
    print("ok")


if __name__ == "__main__":
    main()
