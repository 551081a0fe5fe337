"""The line that a person sees while training goes on."""

from __future__ import annotations

import sys
import time


class Progress:
    """On a terminal a line that is drawn over; elsewhere one every few seconds, and
    one for the first and the last update."""

    def __init__(self, steps: int | None, unit: str, units: int, enabled: bool, stream=None):
        self.steps, self.unit, self.units = steps, unit, units
        self.stream = stream or sys.stderr
        # A program without a console, such as one of pythonw, has no standard error.
        self.enabled = enabled and self.stream is not None
        self.terminal = self.enabled and self.stream.isatty()
        self.seconds = self.last = 0.0
        self.drawn = False

    def update(self, number: int, update) -> None:
        if not self.enabled:
            return
        self.seconds = (
            update.seconds if number <= 2 else 0.9 * self.seconds + 0.1 * update.seconds
        )
        now = time.monotonic()
        if not self.terminal and 1 < number != self.steps and now - self.last < 5:
            return
        self.last = now
        of = f"/{self.steps}" if self.steps is not None else ""
        line = f"step {number}{of} loss {update.loss:.4f}"
        if update.skipped:
            line += " skipped"
        elif self.seconds > 0:
            line += f"  {self.units / self.seconds:,.0f} {self.unit}/s"
        if self.terminal:
            self.stream.write(f"\r\033[K{line}")
        else:
            self.stream.write(line + "\n")
        self.drawn = self.terminal
        self.stream.flush()

    def finish(self) -> None:
        if self.drawn:
            self.stream.write("\n")
            self.stream.flush()
            self.drawn = False
