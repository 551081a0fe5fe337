"""Imports PyTorch models: `export(module, batch)`, and the command zero-import."""

from zero.importer.errors import CannotImport
from zero.importer.model import Model, export
from zero.importer.pretrained import save_pretrained
from zero.importer.weights import load_weights

__all__ = ["CannotImport", "Model", "export", "load_weights", "save_pretrained"]
