"""How the threads of a run wait for work, where the environment does not say."""

from __future__ import annotations

import os

# As executables set it: runtime/kernels/TeamWaits.cpp.
SPIN_COUNT = "300"


def limit_spins() -> None:
    """Has threads spin briefly before they sleep. libgomp reads the environment
    while it is loaded: nothing is set where it is there already."""
    if "GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ:
        return
    if not _has_loaded("libgomp.so"):
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT


def _has_loaded(library: str) -> bool:
    try:
        with open("/proc/self/maps", errors="replace") as mapped:
            return any(f"/{library}" in line for line in mapped)
    except OSError:
        return False
