"""The one error of the importer."""

from __future__ import annotations

from dataclasses import dataclass

from zero.errors import Error


@dataclass(frozen=True)
class Place:
    """Where in the user's model something is: a module's path and a source line."""

    module: str = ""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        source = f"{self.file}:{self.line}" if self.file else ""
        if self.module and source:
            return f"{source}, in module '{self.module}'"
        return source or (f"module '{self.module}'" if self.module else "the model")


class CannotImport(Error):
    """A model that cannot be imported: where, what was found, what to do."""

    def __init__(self, message: str, place: Place | None = None):
        self.place = place
        super().__init__(f"{place}: {message}" if place else message)
