"""zero from Python: compile a model, train it, and bring PyTorch models in.

    import zero
    step = zero.compile(module, batch, config="ds_config.json", ranks=2)
    loss = step(batch)

    zero.export(module, batch).save("model.mlir", "model.safetensors")

Training needs NumPy only; what takes a module needs PyTorch. `docs/Python.md` and
`docs/PyTorch.md` are the pages for users.
"""

from zero.checkpoints import CheckpointError
from zero.compiler import CompileError, compile
from zero.described import Tensor, Update
from zero.errors import ArgumentError, Error, StateError
from zero.sampling import sample
from zero.step import Step, load
from zero.waits import limit_spins

_IMPORTER = ("CannotImport", "Model", "export", "load_weights", "save_pretrained")

__all__ = [
    "ArgumentError",
    "CannotImport",
    "CheckpointError",
    "CompileError",
    "Error",
    "Model",
    "StateError",
    "Step",
    "Tensor",
    "Update",
    "check",
    "compile",
    "export",
    "load",
    "load_weights",
    "moe",
    "sample",
    "save_pretrained",
]

# Before the first step is loaded, and PyTorch by what needs it.
limit_spins()


def __getattr__(name: str):
    # PyTorch is imported by whom needs it.
    if name in _IMPORTER:
        import zero.importer

        return getattr(zero.importer, name)
    if name == "moe":
        import zero.moe

        return zero.moe
    if name == "check":
        from zero.selfcheck import check

        return check
    raise AttributeError(f"module 'zero' has no attribute '{name}'")
