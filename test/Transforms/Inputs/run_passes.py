"""Runs every pass over several modules, and twice in a row.

usage: run_passes.py <zero-opt> <model.mlir> <other model.mlir>

Three modules in one, the first and the last equal, must each become what they
become alone, after every prefix of the passes. A pass that runs a second time
in a row succeeds or says what is wrong.
"""

import subprocess
import sys

SETTINGS = "stage=%d ranks=2 accumulation=2 overlap=true reduce-bucket-size=600 alignment=2"
# Stage 3 has everything in host memory, too.
ON_HOST = " offload-optimizer=cpu offload-param=cpu sub-group-size=300 pipeline-updates=true"
PASSES = [
    "zero-configure{options='%s'}" % SETTINGS,
    "zero-limit-experts",
    "zero-pad-vocabulary{multiple=8}",
    "zero-set-precision{compute=bf16}",
    "zero-weigh-micro-batches{mean=tokens}",
    "zero-differentiate",
    "canonicalize",
    "cse",
    "zero-fuse-cross-entropy",
    "zero-fuse-epilogues",
    "zero-outline-elementwise",
    "zero-fuse-moves",
    "zero-checkpoint-activations",
    "zero-fuse-additions",
    "zero-verify-values",
    "zero-split-gradients",
    "zero-partition",
    "zero-insert-reductions",
    "zero-insert-gathers{parameter-persistence-threshold=20}",
    "zero-insert-updates",
    "zero-peel-last-micro",
    "zero-reduce-early",
    "zero-overlap-reductions",
    "zero-split-statistics",
    "zero-overlap-gathers",
    "zero-overlap-updates",
    "zero-copy-early",
    "zero-join-gathers",
    "zero-prefetch",
    "zero-upload-parameters",
    "zero-free",
    "zero-verify-schedule",
    "zero-plan-memory",
    "zero-verify-schedule",
    "zero-specialize-rank{rank=1}",
]
KERNEL_PASSES = [
    ["zero-vectorize-kernels", "zero-expand-math"],
    ["zero-thread-kernels", "zero-expand-math"],
]
KERNEL = """
func.func private @k(%a: tensor<SIZExf32>) -> tensor<SIZExf32> {
  %e = tensor.empty() : tensor<SIZExf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>,
                                        affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%a : tensor<SIZExf32>) outs(%e : tensor<SIZExf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<SIZExf32>
  return %r : tensor<SIZExf32>
}
"""


def run(opt, text, pipeline):
    result = subprocess.run(
        [opt, "--mlir-print-local-scope", "--pass-pipeline=" + pipeline],
        input=text,
        text=True,
        capture_output=True,
    )
    if result.returncode not in (0, 1):
        sys.exit("%s crashes:\n%s" % (pipeline, result.stderr))
    if result.returncode == 1 and "error:" not in result.stderr:
        sys.exit("%s fails without an error" % pipeline)
    return result.stdout if result.returncode == 0 else None


def nest(pipeline):
    return "builtin.module(builtin.module(%s))" % pipeline


def alone(pipeline):
    return "builtin.module(%s)" % pipeline


def indent(text):
    return ["  " + line for line in lines(text)]


def lines(text):
    return [line for line in text.splitlines() if line.strip()]


def wrap(texts):
    return ["module {"] + [line for text in texts for line in indent(text)] + ["}"]


def check(opt, texts, passes):
    """The passes over all texts in one module, and the last one once more."""
    pipeline = ",".join(passes)
    wanted = [run(opt, text, alone(pipeline)) for text in texts]
    together = "".join("module {\n%s}\n" % text for text in texts)
    found = run(opt, together, nest(pipeline))
    if None in wanted or found is None:
        sys.exit("%s does not run" % pipeline)
    if lines(found) != wrap(wanted):
        sys.exit("%s differs over several modules" % pipeline)
    run(opt, texts[0], alone(pipeline + "," + passes[-1]))


def main():
    opt, first, second = sys.argv[1:]
    texts = [open(path).read() for path in (first, second, first)]
    for stage in range(4):
        settings = SETTINGS % stage + (ON_HOST if stage == 3 else "")
        passes = [each.replace(SETTINGS, settings) for each in PASSES]
        # Stage 3 has every kind of collective; the others run as a whole.
        lengths = range(1, len(passes) + 1) if stage == 3 else [len(passes)]
        for length in lengths:
            check(opt, texts, passes[:length])
        whole = "zero-run-pipeline{options='%s'}" % settings
        check(opt, texts, [whole])
    kernels = [KERNEL.replace("SIZE", str(size)) for size in (64, 35, 64)]
    for passes in KERNEL_PASSES:
        for length in range(1, len(passes) + 1):
            check(opt, kernels, passes[:length])
    print("every pass ran")


main()
