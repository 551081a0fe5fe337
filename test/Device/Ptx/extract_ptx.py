"""Writes the PTX that is embedded in object files: extract_ptx.py FOLDER FILE.cu.o...

Each FOLDER/FILE.ptx is that of one object file, which nvcc compiled for one virtual
architecture and did not compress.
"""

import pathlib
import sys

# Every module starts with its version; a zero byte ends the text.
START = b"\n.version "


def ptx_of(path):
    content = path.read_bytes()
    if content.count(START) != 1:
        sys.exit(f"{path}: {content.count(START)} modules of PTX were found, wanted one: compile "
                 f"for one virtual architecture, with --compress-mode=none")
    begin = content.index(START) + 1
    return content[begin:content.index(b"\0", begin)]


def main(folder, *objects):
    for path in map(pathlib.Path, objects):
        name = path.name.removesuffix(".o").removesuffix(".cu") + ".ptx"
        (pathlib.Path(folder) / name).write_bytes(ptx_of(path))


if __name__ == "__main__":
    main(*sys.argv[1:])
