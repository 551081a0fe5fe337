"""The engines that tools/bench compares, by who made them."""

OURS, TORCH, DEEPSPEED = "zero", "PyTorch", "DeepSpeed"
MAKERS = {
    OURS: [*(f"zero-{stage}" for stage in range(4)), *(f"zero-mpi-{stage}" for stage in range(4))],
    TORCH: ["ddp", "zero-redundancy", "fsdp2", "fsdp2-z2", "ddp-compile", "fsdp2-compile"],
    DEEPSPEED: [f"ds-{stage}" for stage in range(4)],
}
ENGINES = [engine for engines in MAKERS.values() for engine in engines]


def maker_of(engine):
    """Names are no rule: zero-redundancy is PyTorch's."""
    return next(maker for maker, engines in MAKERS.items() if engine in engines)


def is_ours(engine):
    return maker_of(engine) == OURS
