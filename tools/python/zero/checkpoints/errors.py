"""What reading and writing checkpoints raises."""

from zero.errors import ArgumentError


class CheckpointError(ArgumentError):
    """A checkpoint is damaged, incomplete or of no known form; nothing has changed."""
