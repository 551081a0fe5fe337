"""Checkpoints of DeepSpeed and PyTorch: read without either, and without running what
their pickles name. NumPy is all that is needed."""

from zero.checkpoints.errors import CheckpointError
from zero.checkpoints.opening import is_foreign, is_own, read_checkpoint
from zero.checkpoints.run import SavedRun
from zero.checkpoints.writer import write_checkpoint, write_weights

__all__ = [
    "CheckpointError",
    "SavedRun",
    "is_foreign",
    "is_own",
    "read_checkpoint",
    "write_checkpoint",
    "write_weights",
]
