"""Why a model cannot be compared."""


class CannotCheck(Exception):
    """PyTorch's side of the comparison cannot be run, or says nothing."""
