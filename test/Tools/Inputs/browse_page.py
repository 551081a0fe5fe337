"""Opens a page of zero-plan in a browser, points at it, zooms and filters.

Usage: browse_page.py <browser> <page>

Skipped, with a reason, by lit where there is no browser. What is done is written into the
page itself, as a script behind its own, and read from the document that the browser prints.
"""

import html
import json
import re
import subprocess
import sys
import tempfile

SCRIPT = """
<script>
const found = {errors: []};
addEventListener('error', event => found.errors.push(event.message));
const at = (type, x, y, more) => canvas.dispatchEvent(
  Object.assign(new MouseEvent(type, {clientX: x + canvas.getBoundingClientRect().left,
    clientY: y + canvas.getBoundingClientRect().top, bubbles: true}), more));
const pixels = () => canvas.toDataURL().length;
try {
  found.title = document.title;
  found.verdict = byId('verdict').textContent;
  found.boxes = hits.length;
  const [x0, x1, y0, y1, text] = hits.find(([x0, x1]) => x1 - x0 > 3);
  at('mousemove', (x0 + x1) / 2, (y0 + y1) / 2);
  found.tip = tip.textContent;
  found.expected = text;
  at('mouseleave', 0, 0);
  found.gone = tip.style.display;
  const before = view[1] - view[0];
  canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: -1, cancelable: true}));
  found.zoomed = (view[1] - view[0]) / before;
  byId('reset').click();
  found.reset = view[0] === data.begin && view[1] === data.end;
  const bars = () => document.querySelectorAll('#parameters .bar').length;
  found.bars = bars();
  found.legend = byId('legend').textContent;
  found.missing = [...new Set(data.streams.flatMap(stream => stream.events.map(event => event[3])))]
    .filter(kind => !meanings[kind] || !found.legend.includes(meanings[kind]));
  const edge = document.body.getBoundingClientRect().right;
  found.clipped = [...document.querySelectorAll('svg text')].map(text => text.getBoundingClientRect())
    .filter(box => box.right > edge + 1).length;
  const drawn = pixels();
  byId('filter').value = data.parameters[0][0];
  byId('filter').dispatchEvent(new Event('input'));
  found.filtered = bars();
  found.redrawn = pixels() !== drawn;
  found.plans = document.querySelectorAll('#front circle').length;
  found.front = byId('front').hidden;
} catch (error) {
  found.errors.push(String(error));
}
const result = document.createElement('pre');
result.id = 'found';
result.textContent = JSON.stringify(found);
document.body.append(result);
</script>
"""

browser, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    text = file.read().replace("</body>", SCRIPT + "</body>")
with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as page:
    page.write(text)
    page.flush()
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
               "--window-size=1200,900", f"file://{page.name}"]
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
match = re.search(r'<pre id="found">(.*?)</pre>', process.stdout, re.DOTALL)
if not match:
    sys.exit(f"the page says nothing: {process.stdout[-2000:]}{process.stderr[-2000:]}")
found = json.loads(html.unescape(match[1]))
assert not found["errors"], found["errors"]
assert found["title"] and "fits" in found["verdict"], found
assert found["boxes"] > 20 and found["tip"] == found["expected"] != "", found
assert found["gone"] == "none" and found["zoomed"] < 1 and found["reset"], found
assert 1 <= found["filtered"] < found["bars"] and found["redrawn"], found
assert not found["missing"] and "a kernel" in found["legend"], found
assert not found["clipped"], found
assert found["front"] == (found["plans"] == 0), found
print(found["plans"], "plans")
