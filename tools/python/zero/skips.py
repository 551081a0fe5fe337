"""Updates that a gradient without a finite value leaves out."""

from __future__ import annotations

import warnings


class Skips:
    """Tells of the first of a run without a loss scale: nothing makes the next one another."""

    def __init__(self):
        self._has_told = False

    def tell(self, found, stacklevel: int) -> None:
        if not found.skipped or self._has_told or found.loss_scale != 1:
            return
        self._has_told = True
        warnings.warn(
            f"update {found.update} was skipped, as a gradient is inf or NaN: nothing has changed, "
            "and the same batch is skipped again",
            RuntimeWarning,
            stacklevel=stacklevel + 1,
        )
