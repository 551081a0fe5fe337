"""A share of the random modules; `python random_modules.py FIRST COUNT` tries as many as one
likes."""

from __future__ import annotations

import pytest
from random_modules import run

SHARE, TOGETHER = 24, 8


@pytest.mark.parametrize("first", range(0, SHARE, TOGETHER))
def test_random_modules(first):
    equal, refused, found = run(first, TOGETHER)
    assert not found
    # A draw that is refused says nothing; most are taken.
    assert equal >= TOGETHER - 2, refused
