"""Finds links and paths of Markdown pages that lead nowhere: check_links.py FILE...

Looks at links to files, relative to the page, and to headings by the anchors
that GitHub gives them, and at files of this tree that are named as code, such as
`lib/Config`, relative to the working directory. Prints each bad one with its page;
exits with 1 when there is one.
"""

import pathlib
import re
import sys

FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:\.ci|docs|include|lib|runtime|test|tools)/[\w./*-]+)`")


def read(page):
    """The page without code blocks, whose brackets are no links."""
    return FENCE.sub("", page.read_text())


def anchors(page):
    titles = re.findall(r"^#+\s+(.*?)\s*$", read(page), re.M)
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles
    }


def is_good(page, link):
    if re.match(r"[a-z]+:", link):
        return True  # another site's
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target)


bad = []
for page in map(pathlib.Path, sys.argv[1:]):
    text = read(page)
    bad += [f"{page}: {link}" for link in LINK.findall(text) if not is_good(page, link)]
    bad += [
        f"{page}: {path}"
        for path in PATH.findall(text)
        if not any(pathlib.Path().glob(path))
    ]
print("\n".join(bad))
sys.exit(1 if bad else 0)
