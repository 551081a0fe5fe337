"""Prints the table of operations that can be imported, for docs/PyTorch.md:

python -m zero.importer.table          the table
python -m zero.importer.table --write  into the page, between its markers
"""

from __future__ import annotations

import pathlib
import sys

from zero.importer.compositions import OWN
from zero.importer.convert import CONVERTERS
from zero.importer.decompositions import SAME_GRADIENT, name_of

PAGE = pathlib.Path(__file__).parents[4] / "docs" / "PyTorch.md"
BEGIN, END = "<!-- operations: begin -->", "<!-- operations: end -->"


def table() -> str:
    """One row a converter: its operations of PyTorch, and what they become."""
    rows: dict[str, dict] = {}
    for name, converter in CONVERTERS.items():
        if name.startswith("aten."):
            operation, _, overload = name.removeprefix("aten.").partition(".")
            names = rows.setdefault(converter.zero, {})
            names.setdefault(operation, []).append(overload)
    own = [name_of(operation) for operation in OWN]
    rows["a composition of others here"] = dict.fromkeys([*SAME_GRADIENT, *own])
    lines = ["| PyTorch (`aten`) | zero |", "| --- | --- |"]
    for words, names in sorted(rows.items(), key=lambda row: min(row[1])):
        words = words.replace("|", "\\|")
        lines.append("| " + ", ".join(f"`{n}`" for n in sorted(names)) + f" | {words} |")
    return "\n".join(lines)


def page_with_table(page: str) -> str:
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    return page[:start] + "\n" + table() + "\n" + page[end:]


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page_with_table(PAGE.read_text()))
    else:
        print(table())
