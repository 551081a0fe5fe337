"""zero from Python: bring a PyTorch model in.

    import zero
    zero.export(module, batch).save("model.mlir", "model.safetensors")

`docs/PyTorch.md` is the page for users.
"""

from zero.importer import CannotImport, Model, export, load_weights

__all__ = ["CannotImport", "Model", "export", "load_weights"]
