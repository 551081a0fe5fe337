"""Names that are nearly right."""

from __future__ import annotations

import difflib
from typing import Iterable


def nearest(name: str, names: Iterable[str]) -> str:
    """What a message about an unknown name adds: the one that was probably meant."""
    found = difflib.get_close_matches(name, names, 1)
    return f"; the nearest is '{found[0]}'" if found else ""
