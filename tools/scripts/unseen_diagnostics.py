"""Lists diagnostics that no test expects:
unseen_diagnostics.py [--but LIST] [ROOT] [FOLDER...]

A diagnostic is what C++ of lib, runtime and tools (or of these folders of the checkout ROOT)
gives to one of HELPERS, or throws, and what Python of tools raises. Of its text the literal
pieces between insertions count. A test expects it where the test has WORDS words of a piece
in a row that no other diagnostic has; where there are none of its own, those that it shares.
So it does where a string of two words or more is in it and in few others.
Prints file, line and text of each that no test expects, and how many there are.

A line of LIST names one that no test can provoke: 'FILE: TEXT # REASON', the text as it is
printed. With it only others are printed, and lines that name none; either fails.
"""

import argparse
import ast
import bisect
import collections
import itertools
import pathlib
import re
import sys

WORDS = 3
FEW = 3  # diagnostics that a short expectation may be of
# Functions and types that are given the text of an error, a warning or a remark.
HELPERS = (
    r"emit\w*(?:Error|Warning|Remark|OpError)"
    r"|(?:fail|refuse|complain|report|remark|error|warn|note|describe|print)\w*"
    r"|create\w*Error|\w+Error|throw\s+[\w:]+"
)
CALL = re.compile(rf"(?:\b(?:{HELPERS})\s*|\breturn\s+\w*(?:Error|Lack|Refusal)\s*)\(")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'|//[^\n]*|/\*.*?\*/|[;{}]|[()]', re.DOTALL
)
FOLDERS = ("lib", "runtime", "tools")
TESTS = ("test", "tools/python/tests")
# Between words of one expectation: the end of a line, and what the next begins with.
JOINTS = re.compile(
    r'["\']\s*(?:\+\s*)?\n\s*(?:[fr]{0,2})["\']|\\\n|\n\s*(?://|#|;)?\s*(?:[A-Z]\w*-SAME:)?'
)


def unescape(text):
    return re.sub(r"\\(.)", lambda found: " " if found[1] in "nt" else found[1], text)


def unescape_pattern(text):
    """Without the backslashes of a regular expression."""
    return re.sub(r"\\([][(){}.*+?|^$])", r"\1", text)


def end_of_statement(code, start):
    """Where the statement around `start`, behind an opened parenthesis, ends."""
    depth = 1
    for token in TOKEN.finditer(code, start):
        if token[0] == "(":
            depth += 1
        elif token[0] == ")":
            depth -= 1
        elif token[0] in ";{}" and (depth <= 0 or token[0] != ";"):
            return token.start()
    return len(code)


def pieces_of(statement):
    """Literals one behind the other are one piece."""
    pieces, end = [], None
    for token in TOKEN.finditer(statement):
        if not token[0].startswith('"'):
            continue
        text = unescape(token[0][1:-1])
        if end is not None and not statement[end : token.start()].strip():
            pieces[-1] += text
        else:
            pieces.append(text)
        end = token.end()
    return pieces


def of_cpp(code):
    """Yields (offset, pieces) of each diagnostic."""
    code = re.sub(
        r"^\s*//[^\n]*", lambda found: " " * len(found[0]), code, flags=re.MULTILINE
    )
    end = 0
    for call in CALL.finditer(code):
        if call.start() < end:  # within the one before
            continue
        end = end_of_statement(code, call.end())
        yield call.start(), pieces_of(code[call.start() : end])


def of_python(code):
    lines = [0]
    for line in code.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Raise) and node.exc:
            yield (
                lines[node.lineno - 1] + node.col_offset,
                [
                    part.value
                    for part in ast.walk(node.exc)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                ],
            )


def words_of(text):
    return re.findall(r"[^\s]+", text)


def windows_of(pieces):
    """Each WORDS words of a piece in a row; all of one that has fewer, but two."""
    found = []
    for piece in pieces:
        # A word at the edge of an insertion may be a part of one.
        words = words_of(piece)
        if len(words) < 2 or not re.search(r"[A-Za-z]{2}", piece):
            continue
        size = min(WORDS, len(words))
        found += [" ".join(words[i : i + size]) for i in range(len(words) - size + 1)]
    return found


def diagnostics(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if name.startswith(TESTS) or path.suffix not in (
                ".cpp",
                ".h",
                ".cu",
                ".py",
            ):
                continue
            code = path.read_text(encoding="utf-8")
            read = of_python if path.suffix == ".py" else of_cpp
            for offset, pieces in read(code):
                if windows := windows_of(pieces):
                    line = code.count("\n", 0, offset) + 1
                    yield f"{name}:{line}", " ... ".join(pieces), windows


def expected_text(root):
    """The text of all tests, and their strings of few words."""
    texts, strings = [], set()
    for folder in TESTS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (
                ".mlir",
                ".test",
                ".cpp",
                ".h",
                ".py",
                ".cu",
                ".txt",
                ".json",
            ):
                text = path.read_text(encoding="utf-8", errors="replace")
                joined = JOINTS.sub("", text)
                texts.append(JOINTS.sub(" ", text) + "\n" + joined)
                if path.suffix in (".cpp", ".h", ".py"):
                    strings.update(
                        unescape(found[1]) for found in LITERAL.finditer(joined)
                    )
    text = unescape_pattern(unescape("\n".join(texts)))
    return " ".join(words_of(text)), strings


def index_of(text):
    """By each word of `text`: what follows it, sorted, each with what is before it."""
    index = collections.defaultdict(set)
    words = ["", *words_of(text), ""]
    for before, word, after in zip(words, words[1:], words[2:]):
        index[word].add((after, before))
        index[""].add((after, word))  # for windows of two words
    return {word: sorted(around) for word, around in index.items()}


def is_in(index, window):
    """Whether the text of `index` has the two or three words of `window` in a row, of which
    the first may end a word there, and the last begin one."""
    first, *middle, last = window.split(" ")
    around = index.get("".join(middle), [])
    start = bisect.bisect_left(around, (last,))
    for after, before in itertools.islice(around, start, None):
        if not after.startswith(last):
            return False
        if before.endswith(first):
            return True
    return False


def expected_by(strings, found):
    """The places of diagnostics that have one of `strings`, as few others do."""
    diagnostics = collections.defaultdict(list)  # by two words in a row
    for place, message, _ in found:
        words = words_of(message)
        for pair in set(itertools.pairwise(words)):
            diagnostics[pair].append((place, message))
    seen = set()
    for string in strings:
        words = words_of(string)
        if len(words) < 2:
            continue
        near = min(
            (diagnostics.get(pair, []) for pair in itertools.pairwise(words)), key=len
        )
        places = {place for place, message in near if string in message}
        if len(places) <= FEW:
            seen |= places
    return seen


def unseen_of(root, folders):
    """Place and text of each diagnostic that no test expects, and how many there are."""
    found = list(diagnostics(root, folders))
    if not found:
        sys.exit(f"unseen_diagnostics: no diagnostics in {root}")
    uses = collections.Counter(
        window for _, _, windows in found for window in set(windows)
    )
    text, strings = expected_text(root)
    index = index_of(text)
    seen = {window for window in uses if is_in(index, window)}
    by_string = expected_by(strings, found)
    unseen = []
    for place, message, windows in found:
        own = [window for window in windows if uses[window] == 1] or windows
        if seen.isdisjoint(own) and place not in by_string:
            unseen.append((place, " ".join(words_of(message))))
    return unseen, len(found)


def read_list(path):
    """The line of each diagnostic that `path` names, by its file and text."""
    named = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        name, separator, reason = line.rpartition(" # ")
        if not separator or not reason.strip() or ": " not in name:
            sys.exit(
                f"unseen_diagnostics: {path}:{number}: wanted 'FILE: TEXT # REASON', "
                f"found '{line}'"
            )
        named[name] = number
    return named


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--but", type=pathlib.Path)
    parser.add_argument("root", nargs="?", type=pathlib.Path)
    parser.add_argument("folders", nargs="*")
    arguments = parser.parse_args()
    root = arguments.root or pathlib.Path(__file__).resolve().parents[2]
    named = read_list(arguments.but) if arguments.but else {}
    met, printed = set(), 0
    unseen, count = unseen_of(root, arguments.folders or FOLDERS)
    for place, message in unseen:
        name = f"{place.rpartition(':')[0]}: {message}"
        if name in named:
            met.add(name)
            continue
        printed += 1
        print(f"{place}: {message}")
    for name in sorted(named.keys() - met, key=named.get):
        print(
            f"{arguments.but}:{named[name]}: no such diagnostic, or a test expects it: "
            "remove the line"
        )
    but = f", but for {len(met)} of {arguments.but.name}" if arguments.but else ""
    print(f"{printed} of {count} diagnostics are in no test's expectation{but}")
    sys.exit(1 if arguments.but and (printed or named.keys() - met) else 0)


if __name__ == "__main__":
    main()
