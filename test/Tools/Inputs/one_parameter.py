"""The one-parameter model needs its states and two buckets, whatever its size.

With S elements, n ranks, and p, g, k bytes of parameter, gradient and optimizer
state an element, stage 1 holds (p + g) S + k S/n, stage 2 p S + (g + k) S/n,
stage 3 (p + g + k) S/n and the gathered parameter. At stage 1 that is where every
micro-batch is reduced; otherwise gradients are made where they are stored. On top come one bucket, or two with overlap, and what
the plan lists by name.
"""

import json
import subprocess
import sys

S, BUCKET = 1024 * 512, 40000
BYTES = {("f32", 1): (4, 4, 8), ("f32", 2): (4, 4, 8)}
for half in ("bf16", "f16"):
    BYTES[half, 1], BYTES[half, 2] = (2, 2, 12), (2, 4, 12)


def plan(stage, ranks, precision, accumulation, layout, overlap):
    options = (f"precision={precision} accumulation={accumulation} layout={layout} "
               f"overlap={overlap} reduce-bucket-size={BUCKET}")
    if stage == 1:
        options += " deterministic"
    run = subprocess.run(["zero-plan", sys.argv[1], "--stage", str(stage), "--ranks",
                          str(ranks), "--pipeline", options, "--json", "-"],
                         check=True, capture_output=True, text=True)
    if "made whole" in run.stderr:
        sys.exit(run.stderr)
    memory = json.loads(run.stdout)["memory"]
    return {name: arena["bytes"] for name, arena in memory.items()}, memory


def check(stage, ranks, precision, accumulation, layout, overlap):
    sizes, memory = plan(stage, ranks, precision, accumulation, layout, overlap)
    p, g, k = BYTES[precision, accumulation]
    name = f"stage {stage}, {ranks} ranks, {precision}, {accumulation}, {layout}, {overlap}"
    padding = ranks * 128 - 1
    states = sizes["parameters"] + sizes["gradients"] + sizes["optimizer"]
    wanted = (p / (ranks if stage == 3 else 1) + g / (ranks if stage >= 2 else 1)
              + k / ranks) * S
    if not wanted <= states <= wanted + (p + g + k) * padding:
        sys.exit(f"{name}: states of {states} bytes, wanted {wanted}")
    buckets = (2 if overlap == "true" else 1) * BUCKET * p
    gathered = p * (S + padding) if stage == 3 else 0
    if sizes["communication"] > max(buckets, gathered):
        sys.exit(f"{name}: buckets of {sizes['communication']} bytes, wanted {buckets}")
    # No activation is as large as a bucket: the gradient is nowhere else.
    largest = max(part["bytes"] for part in memory["activations"]["parts"])
    if largest > buckets:
        sys.exit(f"{name}: an activation of {largest} bytes")
    total = sum(sizes.values())
    if stage == 2 and precision == "bf16" and accumulation == 1:
        reducedWhole = 2 * S + 2 * S + 12 * S / ranks
        print(f"{ranks} ranks: {total} bytes, of them {states} = 2S + 14S/n; a gradient "
              f"reduced whole: {reducedWhole + total - states - sizes['communication']:.0f}")


for stage, layouts in ((1, ("bucketed",)), (2, ("bucketed", "contiguous")),
                       (3, ("bucketed",))):
    for layout in layouts:
        for ranks in (2, 3, 4, 8, 64):
            for precision, accumulation in BYTES:
                for overlap in ("false", "true") if stage > 1 or accumulation > 1 else ():
                    check(stage, ranks, precision, accumulation, layout, overlap)
print("ok")
