"""Reads a page of zero-plan: what it needs, and whether its data belong together.

Usage: check_page.py <page> <json of the same plan, or of the search>
"""

import json
import sys
from html.parser import HTMLParser


class Page(HTMLParser):
    """The ids, the data, and whatever would be fetched."""

    def __init__(self):
        super().__init__()
        self.ids, self.fetched, self.open = [], [], None
        self.texts = {"style": "", "script": "", "data": ""}

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.fetched += [found[key] for key in ("src", "href") if key in found]
        self.fetched += [tag] if tag in ("link", "iframe", "img") else []
        self.open = found.get("id") if found.get("id") in self.texts else tag

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, text):
        if self.open in self.texts:
            self.texts[self.open] += text


path, other = sys.argv[1:]
page = Page()
with open(path, encoding="utf-8") as file:
    page.feed(file.read())
with open(other, encoding="utf-8") as file:
    expected = json.load(file)

# Nothing is fetched; the one address is a name, that of SVG.
assert not page.fetched, page.fetched
code = page.texts["script"].replace("http://www.w3.org/2000/svg", "")
assert "://" not in code + page.texts["style"] and "import(" not in code and "url(" not in code
wanted = {"title", "verdict", "filter", "reset", "canvas", "time", "parameters", "traffic",
          "front", "tip", "data"}
assert wanted <= set(page.ids) and len(set(page.ids)) == len(page.ids), page.ids

data = json.loads(page.texts["data"])
assert data["begin"] == 0 < data["end"]
names = {stream["name"]: stream["events"] for stream in data["streams"]}
assert names["compute"], names
for name, events in names.items():
    ends = 0
    for begin, end, _, kind, size, _ in events:
        assert ends - 1e-12 <= begin < end <= data["end"] + 1e-12 and size >= 0, (name, begin, end)
        assert kind in (name, *(("kernel", "wait") if name == "compute" else ())), (name, kind)
        ends = end
for arena in data["arenas"]:
    assert arena["buffers"] or not arena["changes"], arena["name"]
    for begin, end, offset, size, _ in arena["buffers"]:
        assert 0 <= begin <= end <= data["end"] + 1e-12
        assert 0 <= offset and offset + size <= arena["bytes"], arena["name"]
planned = expected.get("pick", expected)["bytes"]
assert sum(arena["bytes"] for arena in data["arenas"] if " on " not in arena["name"]) == planned
if "pick" in expected:
    assert [plan["bytes"] for plan in data["front"]] == [p["bytes"] for p in expected["front"]]
    pick, = [plan for plan in data["front"] if plan["pick"]]
    assert (pick["bytes"], pick["seconds"]) == (planned, expected["pick"]["seconds"])
else:
    assert not data["front"]
    assert len(data["parameters"]) > 0 and all(row[1] > 0 for row in data["parameters"])
    sent = sum(kind["sent"]["bytes"] for kind in expected["collectives"].values())
    classes = len([t for t in expected["traffic"].values() if t["planned"]["bytes"] > 0])
    assert sum(row[1] for row in data["traffic"][:classes]) == sent, data["traffic"]
    assert "MFU" in data["verdict"]
