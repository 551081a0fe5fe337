#!/usr/bin/env python3
"""Training on a mesh with an axis that cuts the model: tensor, sequence or expert
parallelism.

Usage: train_cut.py <folder> <model> <mesh> <kind>

`mesh` is "data=2,tensor=2" or has an axis `sequence` or `expert`; `kind` is in-process or
mpi. At every stage losses, norms and weights are those of one rank that accumulates the same
micro-batches, with SGD and with AdamW. Deterministic runs of the stages of one mesh are equal
bit by bit. A run starts from weights that another mesh has saved, and goes on from its
checkpoints: bitwise equal on the mesh that wrote them. Recomputed activations, rows that are
cut between layers and means over tokens change nothing, and runs in 16 bits are about as far
from f32 runs as those of whole models. Over `tensor` a vocabulary that the ranks do not divide
is padded, and nothing that is saved knows of it.

Traffic is that of the closed forms. Over `tensor` a layer has two sums forward and
two backward, each an all-reduce of the residual stream; what is looked up and the
gradient of what is projected on the vocabulary are one more each. The loss is a number
for each token and rank, gathered, and a sum of one number. Over `sequence` a layer
exchanges queries, keys and values for the heads that a rank has, and back what attention
gives, and the gradients of all of these; the loss is summed. Gradients of parameters are
ZeRO's, over the axis as well. Over `expert` a layer gathers the tokens of all ranks, with
their choices and weights, and scatters what their experts have made of them; the other
way around for gradients, of which choices have none. Where experts have places, those of all
experts are sent to their ranks, and back, and so are the gradients.
"""

import math
import os
import shutil
import subprocess
import sys

from cut_traffic import check_states
from training import ALL_CASES, GOLDENS, MODELS as FOLDER, Setup, arguments, check, close, difference, \
    execute, fail, read_tensors, relative_l2, same_bytes, worst_element

STEPS = 20
SEEDS = range(16)
ACCUMULATION = 2
MODELS = {
    # Layers, tokens and elements of the residual stream of a micro-batch, key heads by
    # query heads, experts that a token chooses, and elements of all their places.
    "tiny-gpt": (2, 2 * 16, 2 * 16 * 32, 1, 0, 0),
    "tiny-llama": (2, 2 * 16, 2 * 16 * 32, 1 / 2, 0, 0),
    "tiny-moe": (2, 2 * 16, 2 * 16 * 32, 1 / 2, 2, 0),
    "tiny-capacity": (2, 2 * 16, 2 * 16 * 32, 1 / 2, 2, 4 * 10 * 32),
}
KEY_HEADS = {"tiny-gpt": 4, "tiny-llama": 2, "tiny-moe": 2, "tiny-capacity": 2}
# Elements of parameters that ranks of `tensor` share where they have some of the rows: norms,
# and biases that are added to a sum.
SHARED = {"tiny-gpt": (5 * 2 + 4) * 32, "tiny-llama": 5 * 32}
SGD = {"type": "SGD", "params": {"lr": 0.05, "momentum": 0.9}}
ADAMW = (1e-5, 1e-4, 1e-5)  # losses, norms, weights
# Elements whose gradients are zero in exact arithmetic: a bias of all keys adds the same to
# each score of a row. Of what rounding leaves there AdamW makes steps as large as of any other.
WITHOUT_GRADIENT = {f"h.{layer}.attn.c_attn.bias": (32, 64) for layer in range(2)}


def weights_of(model):
    """The initial weights; None: as the model gives them."""
    name = model + ".safetensors"
    return name if os.path.exists(os.path.join(GOLDENS, name)) else None


def whole(folder, model, batch_ranks, precision="f32", **options):
    """One rank with the micro-batches of all."""
    setup = Setup(0, 1, precision, ACCUMULATION * batch_ranks, model=model + ".mlir", **options)
    return execute(folder, setup, steps=STEPS, weights=weights_of(model))


def compare(name, run, wanted, tolerances=ADAMW, without=None):
    """`without`: ranges of elements by tensor that may be any; None: `WITHOUT_GRADIENT`."""
    loss, norm, weights = tolerances
    close(name + " loss", run.column("loss"), wanted.column("loss"), loss)
    close(name + " norm", run.column("grad_norm"), wanted.column("grad_norm"), norm)
    without = WITHOUT_GRADIENT if without is None else without
    found, wanted = read_tensors(run.weights), read_tensors(wanted.weights)
    check(found.keys() == wanted.keys(),
          f"{name}: saved are {sorted(found)}, wanted {sorted(wanted)}")
    for key, whole in wanted.items():
        first, last = without.get(key, (0, 0))
        part, other = ({key: tensor[:first] + tensor[last:]} for tensor in (found[key], whole))
        error = max(relative_l2(part, other),
                    max(abs(a - b) for a, b in zip(part[key], other[key])))
        if not error <= weights:
            fail(f"{name}: {key} differs by {error:.3g}, wanted {weights:g}: "
                 + worst_element(part, other))


def check_traffic(setup, run, axis, wanted, accumulation=ACCUMULATION):
    """`wanted` are the elements that a rank sends in a micro-batch; None: any."""
    for update in run.updates if wanted is not None else ():
        found = update["traffic"]["groups"][axis]["activation"]["elements"]
        check(abs(found - accumulation * wanted) < 0.5,
              f"{setup.name}: a rank sends {found} elements of activations over {axis}, "
              f"wanted {accumulation * wanted}")


def traffic_of_tensor(ranks, layers, tokens, elements, tables=2, chosen=0):
    """`tables` of the embedding and the projection are cut. Of experts what each that a token
    has chosen gives is summed, and its gradient."""
    summed = (2 * layers * (1 + max(chosen, 1)) + tables) * elements + 1
    return summed * 2 * (ranks - 1) / ranks + tokens * (ranks - 1)


def traffic_of_sequence(ranks, layers, elements, groups):
    """`groups` are the key heads by the query heads."""
    exchanged = 2 * layers * (2 + 2 * groups) * elements / ranks * (ranks - 1) / ranks
    return exchanged + 2 * (ranks - 1) / ranks


def traffic_of_experts(ranks, layers, tokens, elements, chosen, places):
    if places:
        return layers * 4 * places * (ranks - 1) / ranks
    return layers * (4 * elements + 3 * tokens * chosen) * (ranks - 1)


def check_stages(folder, case):
    """Runs of all stages on one mesh are equal; returns the first."""
    first = None
    for stage in range(4):
        run = case.run(folder, stage, deterministic=True, steps=STEPS)
        first = first or run
        found = difference(run, first)
        check(found is None, f"{case.mesh}, stage {stage}, deterministic: {found}")
    for stage in (1, 2):
        run = case.run(folder, stage, deterministic=True, steps=STEPS, layout="contiguous")
        found = difference(run, first)
        check(found is None, f"{case.mesh}, stage {stage}, contiguous: {found}")
    return first


def check_options(folder, case):
    settings = [{"checkpoint_every": 1}, {"loss_mean": "tokens"},
                {"fuse_cross_entropy": True, "cross_entropy_chunk_bytes": 1}]
    # Over `tensor` as well, it would be what cuts the experts that have places.
    if list(case.cut) == ["expert"] and not MODELS[case.model][-1]:
        settings.append({"experts": {"capacity_factor": 0.625, "drop_policy": "probs",
                                     "renormalize": True}})
    for options in settings:
        wanted = whole(folder, case.model, case.batch_ranks, **options)
        compare(str(options), case.run(folder, 2, steps=STEPS, **options), wanted)


def check_rows(folder, case):
    """Ranks of `tensor` with some of the rows between what is cut: as one rank, and at each
    stage the same. More is sent for the gradients of what they share, and for rows that the
    backward pass gathers again: what each layer's two groups of products and the last one read.
    """
    wanted = whole(folder, case.model, case.batch_ranks)
    for stage in (0, 3):
        compare(f"{case.mesh}, rows", case.run(folder, stage, cut_rows=True), wanted)
    first = case.run(folder, 0, deterministic=True, cut_rows=True)
    for stage in (1, 2, 3):
        run = case.run(folder, stage, deterministic=True, cut_rows=True)
        found = difference(run, first)
        check(found is None, f"{case.mesh}, rows, stage {stage}: {found}")
    if case.model in SHARED and list(case.cut) == ["tensor"]:
        layers, _, elements = MODELS[case.model][:3]
        more = 2 * SHARED[case.model] + (2 * layers + 1) * elements
        ranks = case.cut["tensor"]
        check_traffic(case.setup(0, cut_rows=True), first, "tensor",
                      case.traffic("tensor") + more * (ranks - 1) / ranks)


def check_overlap(folder, case, first):
    """Weight gradients that are computed while values are exchanged, as on a machine whose
    links work by themselves, are bitwise equal to those that are not."""
    found = difference(case.run(folder, 2, deterministic=True, machine="h100"), first)
    check(found is None, f"{case.mesh}, exchanges overlapped: {found}")


def check_persistence(folder, case):
    """Parameters that stay whole at stage 3: some, and all, of each group of ranks."""
    wanted = whole(folder, case.model, case.batch_ranks)
    for threshold in (100, 6100, 100000):
        for overlap in (False, True):
            options = {"stage3_param_persistence_threshold": threshold, "overlap_comm": overlap}
            compare(f"{case.mesh}, {options}", case.run(folder, 3, steps=STEPS, **options),
                    wanted)


def distances(folder, setup, exact):
    """How far the losses of a setup's first updates are from those of `exact`, in f32: the
    root of the sum of squares, for each of `SEEDS`. Later, what was rounded otherwise has been
    amplified, and one start says nothing."""
    found = []
    for seed, wanted in zip(SEEDS, exact):
        run = execute(folder, setup, steps=5, weights=None, seed=seed, save=False)
        found.append(math.sqrt(sum((a - b) ** 2 for a, b in zip(run.column("loss"), wanted))))
    return found


def check_precisions(folder, case):
    def whole_of(precision):
        return Setup(0, 1, precision, ACCUMULATION * case.batch_ranks,
                     model=case.model + ".mlir")

    exact = [execute(folder, whole_of("f32"), steps=5, weights=None, seed=seed,
                     save=False).column("loss") for seed in SEEDS]
    # Single ratios scatter by a factor of 1.8 in f16 and of 1.5 in bf16, their means over the
    # seeds by a quarter of its logarithm, around 1.
    # Sums of f16 have a factor for all gradients, and experts' have another group.
    bound = 1.5
    for precision in ("bf16", "f16"):
        if precision == "f16" and "expert" in case.cut:
            continue
        one = distances(folder, whole_of(precision), exact)
        for stage in (0, 3) if ALL_CASES else (3,):
            cut = distances(folder, case.setup(stage, precision), exact)
            ratio = math.exp(sum(math.log(a / b) for a, b in zip(cut, one)) / len(SEEDS))
            check(ratio <= bound, f"{case.mesh}, stage {stage}, {precision}: losses are {ratio:.3g}"
                  f" times as far from f32 as those of whole models, wanted {bound} at most")


def check_evaluation(folder, case):
    """Samples that nobody trains on have the same loss on the mesh and on one rank."""
    def run(setup, batches):
        flags = ("--validation-fraction", "0.3", "--eval-every", "3", "--eval-batches",
                 str(batches))
        return execute(folder, setup, steps=6, weights=weights_of(case.model), tag="-evaluated",
                       mpi=case.mpi and setup.ranks > 1, arguments=flags)

    one = Setup(0, 1, "f32", ACCUMULATION * case.batch_ranks, model=case.model + ".mlir")
    close(case.mesh + " validation", run(case.setup(3), 2).validation,
          run(one, 2 * case.batch_ranks).validation, 1e-5)


def other_meshes(case):
    """Setups of the same micro-batches an update: one of the ranks that only add up gradients,
    and one whose only axis is the mesh's, with four ranks."""
    batches = ACCUMULATION * case.batch_ranks
    result = [Setup(1, batches, "f32", 1, model=case.model + ".mlir")]
    axis = list(case.cut)[0]
    if KEY_HEADS[case.model] % 4 == 0 or axis == "expert":
        ranks = 4 if axis == "expert" else 1
        result.append(Setup(3, 4, "f32", batches // ranks, model=case.model + ".mlir",
                            mesh=f"data=1,{axis}=4"))
    return result


def check_resume(folder, case):
    """A checkpoint of the mesh goes on there, on one rank and on other meshes, and one rank's
    goes on there."""
    def run(setup, steps, tag, *arguments):
        return execute(folder, setup, steps=steps, weights=weights_of(case.model), tag=tag,
                       mpi=case.mpi, arguments=["--validation-fraction", "0", *arguments])

    one = Setup(0, 1, "f32", ACCUMULATION * case.batch_ranks, model=case.model + ".mlir")
    cut = case.setup(2, deterministic=True)
    whole_run = run(cut, 10, "-unbroken")
    unbroken = whole_run.column("loss")[5:]
    for writer, name in ((cut, "cut"), (one, "one")):
        saved = os.path.join(folder, "saved-" + name)
        shutil.rmtree(saved, ignore_errors=True)
        run(writer, 5, "-saving", "--checkpoint", saved, "--checkpoint-every", "5")
        others = other_meshes(case) if writer is cut and not case.mpi else []
        for reader in (cut, one, *others):
            used = saved + "-used"
            shutil.rmtree(used, ignore_errors=True)
            shutil.copytree(saved, used)
            resumed = run(reader, 10, "-resumed", "--checkpoint", used, "--resume")
            found = resumed.column("loss")
            close(f"{writer.name} resumed as {reader.name}", found, unbroken, 1e-5)
            if writer is reader is cut:
                check(found == unbroken and same_bytes(resumed.weights, whole_run.weights),
                      f"{cut.name}: resumed, it is another run")


def generate(folder, name, kind, *options):
    path = os.path.join(folder, name)
    made = subprocess.run([sys.executable, os.path.join(FOLDER, "generate.py"), kind,
                           "--layers", "1", "--width", "32", "--heads", "4", *options,
                           "--sequence", "64"],
                          check=True, capture_output=True, text=True)
    with open(path, "w") as file:
        file.write(made.stdout)
    return path


def check_dropout(folder, case):
    """Ranks drop what one rank drops of their parts, of one sample."""
    experts = ("--experts", "4", "--hidden", "48") if "expert" in case.cut else ()
    if MODELS[case.model][-1]:
        experts += ("--capacity", "20")
    path = generate(folder, "dropout.mlir", "llama" if experts else "gpt", *experts, "--dropout",
                    "0.1", "--micro-batch", "1")

    def run(setup, **options):
        return execute(folder, setup, steps=10, weights=None, tag="-dropout",
                       arguments=["--validation-fraction", "0", "--data-format", "text"],
                       **options)

    wanted = run(Setup(0, 1, "f32", ACCUMULATION * case.batch_ranks, model=path))
    for stage in (0, 3):
        cut = Setup(stage, case.ranks, "f32", ACCUMULATION, model=path, mesh=case.mesh)
        compare(f"dropout, stage {stage}", run(cut, mpi=case.mpi), wanted)


def check_padding(folder, case):
    """A vocabulary that the ranks do not divide, with logits in several chunks: what is
    saved has no padding, and any mesh goes on from it."""
    path = generate(folder, "odd.mlir", "llama", "--key-heads", "4", "--hidden", "48",
                    "--vocabulary", "257", "--micro-batch", "2")

    def run(setup, steps, tag, *arguments, mpi=False):
        return execute(folder, setup, steps=steps, weights=None, tag=tag, mpi=mpi,
                       arguments=["--validation-fraction", "0", "--data-format", "text",
                                  *arguments])

    saved = os.path.join(folder, "saved-odd")
    shutil.rmtree(saved, ignore_errors=True)
    options = {"model": path, "fuse_cross_entropy": True, "cross_entropy_chunk_bytes": 1}
    one = Setup(0, 1, "f32", ACCUMULATION * case.batch_ranks, **options)
    cut = Setup(2, case.ranks, "f32", ACCUMULATION, mesh=case.mesh, **options)
    wanted = run(one, 10, "-odd")
    found = run(cut, 10, "-odd", mpi=case.mpi)
    compare("257 rows", found, wanted)
    # Of so many tokens, what the embedding gives is dearer than its table.
    check_traffic(cut, found, "tensor",
                  traffic_of_tensor(case.cut["tensor"], 1, 2 * 64, 2 * 64 * 32, tables=1))
    run(cut, 5, "-saving", "--checkpoint", saved, "--checkpoint-every", "5", mpi=case.mpi)
    resumed = run(one, 10, "-resumed", "--checkpoint", saved, "--resume")
    close("257 rows, resumed", resumed.column("loss"), wanted.column("loss")[5:], 1e-5)


class Case:
    """One model on one mesh."""

    def __init__(self, model, mesh, kind):
        self.model, self.mesh, self.mpi = model, mesh, kind == "mpi"
        self.ranks = math.prod(int(axis.split("=")[1]) for axis in mesh.split(","))
        axes = self.setup(0).axes
        # The axes that cut the model, with their ranks.
        self.cut = {axis: axes[axis] for axis in ("tensor", "sequence", "expert") if axis in axes}
        # Ranks with experts of their own have samples of their own.
        self.batch_ranks = self.ranks // axes.get("tensor", 1) // axes.get("sequence", 1)

    def traffic(self, axis):
        """Elements that a rank sends over an axis in a micro-batch."""
        layers, tokens, elements, groups, chosen, places = MODELS[self.model]
        ranks = self.cut[axis]
        # A rank has some positions of all, and exchanges some heads of them.
        positions, parts = self.cut.get("sequence", 1), self.cut.get("tensor", 1)
        if axis == "tensor":
            tokens, elements = tokens / positions, elements / positions
            # Rows of experts are those that the ranks of `expert` have chosen.
            return traffic_of_tensor(ranks, layers, tokens, elements,
                                     chosen=chosen * self.cut.get("expert", 1))
        if axis == "expert":
            return traffic_of_experts(ranks, layers, tokens, elements, chosen, places)
        if chosen:
            return None  # layers of experts are whole over `sequence`
        if KEY_HEADS[self.model] % (ranks * parts):
            return None  # attention is whole over `sequence`
        return traffic_of_sequence(ranks, layers, elements / parts, groups)

    def setup(self, stage, precision="f32", deterministic=False, **options):
        return Setup(stage, self.ranks, precision, ACCUMULATION, deterministic,
                     model=self.model + ".mlir", mesh=self.mesh, **options)

    def run(self, folder, stage, precision="f32", deterministic=False, steps=STEPS, **options):
        return execute(folder, self.setup(stage, precision, deterministic, **options),
                       steps=steps, weights=weights_of(self.model), mpi=self.mpi)


def check_weights(folder, case, first):
    """Files know of no mesh. Of two updates only, Adam's would amplify what is rounded."""
    middle = os.path.join(folder, "middle.safetensors")
    shutil.copy(first.weights, middle)
    here = os.path.relpath(middle, GOLDENS)
    options = {"model": case.model + ".mlir", "optimizer": SGD}
    one = Setup(0, 1, "f32", ACCUMULATION * case.batch_ranks, **options)
    compare("other weights",
            execute(folder, case.setup(0, optimizer=SGD), steps=2, weights=here, tag="-again",
                    mpi=case.mpi),
            execute(folder, one, steps=2, weights=here, tag="-again"), (1e-5, 1e-5, 1e-5), {})


def main():
    folder, model, mesh, kind = arguments("model", "mesh", "kind")
    case = Case(model, mesh, kind)
    for optimizer, bounds in ((SGD, ((1e-5, 1e-5, 1e-5), {})), (None, (ADAMW, None))):
        options = {"optimizer": optimizer} if optimizer else {}
        wanted = whole(folder, model, case.batch_ranks, **options)
        for stage in range(4):
            setup = case.setup(stage, **options)
            run = case.run(folder, stage, **options)
            compare(setup.name, run, wanted, *bounds)
            for axis in case.cut:
                check_traffic(setup, run, axis, case.traffic(axis))
            for update in run.updates:
                check_states(case, setup, update["traffic"], ACCUMULATION)
            print(setup.name + ": equal")
    first = check_stages(folder, case)
    check_overlap(folder, case, first)
    check_weights(folder, case, first)
    if "tensor" in case.cut and "sequence" not in case.cut:
        check_rows(folder, case)
    if ALL_CASES or not case.mpi:
        check_options(folder, case)
        check_persistence(folder, case)
        check_precisions(folder, case)
    check_evaluation(folder, case)
    check_resume(folder, case)
    check_dropout(folder, case)
    if list(case.cut) == ["tensor"]:
        check_padding(folder, case)
    print("ok")


if __name__ == "__main__":
    main()
