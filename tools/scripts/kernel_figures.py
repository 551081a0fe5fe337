#!/usr/bin/env python3
"""Prints what the compilers made of the device kernels: registers, spills, stack, shared
memory, the widest access of global memory, and how many accesses and instructions.

Usage: kernel_figures.py [--arch sm_90] [--kernels REGEX] [--json FILE]
                         [--no-spills REGEX] [--wide REGEX] [--build FOLDER] [FILE...]

A FILE is a .cu of runtime/kernels/cuda, which are all compiled if none is given, or PTX,
as `zero-compile --target=cuda --emit=ptx` writes it. No GPU is needed, but the CUDA
toolkit: nvcc and ptxas, and cuobjdump for the machine code. They are looked for in
ZERO_CUDA_BIN, the path and /usr/local/cuda/bin. Without cuobjdump accesses and
instructions are those of the PTX, and the table says so. A .cu includes headers that a
build generates: --build names it (build/release).

`--no-spills` and `--wide` are for tests: the exit status is 1, after a line for each
kernel, where one of the kernels whose name matches has a stack, spills, or no access of
16 bytes; or where no name matches. `--wide` wants a load of 16 bytes, and a store as
well where the kernel is not named with a trailing '-': `--wide 'lossKernel-'`.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = ROOT / "runtime/kernels/cuda"
# As CMakeLists.txt there has them.
FLAGS = ["-std=c++17", "-O3", "--fmad=false", "--expt-relaxed-constexpr",
         "-I", str(ROOT / "runtime")]

ENTRY = re.compile(r"Compiling entry function '(\S+)' for")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, "
                   r"(\d+) bytes spill loads")
# LDG.E.128.CONSTANT, STG.E.U16; without a size, 4 bytes.
SASS_ACCESS = re.compile(r"\b(LDG|STG)\.E((?:\.\w+)*)")
SASS_LINE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?);")
PTX_ACCESS = re.compile(r"\b(ld|st)\.(?:\w+\.)*?global((?:\.\w+)*)")


class Failure(Exception):
    pass


def find_tool(name):
    folders = [os.environ.get("ZERO_CUDA_BIN"), None, "/usr/local/cuda/bin"]
    for folder in folders:
        if folder != "" and (found := shutil.which(name, path=folder)):
            return found
    return None


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"'{' '.join(map(str, command))}' failed:\n{done.stderr.strip()}")
    return done.stdout + done.stderr


def sass_bytes(suffix):
    for word in suffix.split("."):
        if word in ("128", "64"):
            return int(word) // 8
        if match := re.fullmatch(r"[US](8|16)", word):
            return int(match.group(1)) // 8
    return 4


def ptx_bytes(suffix):
    count, size = 1, 0
    for word in suffix.split("."):
        if word in ("v2", "v4", "v8"):
            count = int(word[1:])
        elif match := re.fullmatch(r"[bsuf](8|16|32|64|128)", word):
            size = int(match.group(1)) // 8
    return count * size


def count_accesses(code, pattern, bytes_of, figures):
    for kind in ("load", "store"):
        figures[f"{kind}s"] = figures[f"widest_{kind}"] = 0
    for line in code:
        if not (match := pattern.search(line)):
            continue
        kind = "load" if match.group(1).lower().startswith("ld") else "store"
        figures[f"{kind}s"] += 1
        key = f"widest_{kind}"
        figures[key] = max(figures[key], bytes_of(match.group(2)))


def read_sass(text):
    """Lists of instructions by mangled name."""
    functions, current = {}, None
    for line in text.splitlines():
        if match := re.match(r"\s*Function : (\S+)", line):
            current = functions.setdefault(match.group(1), [])
        elif current is not None and (match := SASS_LINE.match(line)):
            # Blocks are filled up with NOPs, after a branch to itself.
            if not re.match(r"NOP|BRA `?\(?\.L_x_\d+\)?$", match.group(1).strip()):
                current.append(match.group(1))
    return functions


def read_ptx(text):
    functions, parts = {}, re.split(r"\.entry (\S+?)\(", text)
    for name, body in zip(parts[1::2], parts[2::2]):
        begin = body.index("{")
        functions[name] = [line for line in body[begin:].splitlines()
                           if re.match(r"\s*(@!?%p\d+\s+)?[a-z]+[\w.]*\s", line)]
    return functions


def read_resources(text):
    kernels, name = {}, None
    for line in text.splitlines():
        if match := ENTRY.search(line):
            name = match.group(1)
            kernels[name] = {"registers": 0, "shared": 0, "stack": 0, "spills": 0}
        elif name and (match := FRAME.search(line)):
            stack, stores, loads = map(int, match.groups())
            kernels[name].update(stack=stack, spills=stores + loads)
        elif name and (match := USED.search(line)):
            kernels[name]["registers"] = int(match.group(1))
            if match := SHARED.search(line):
                kernels[name]["shared"] = int(match.group(1))
    return kernels


def demangle(names):
    """Without argument types and namespaces: lossKernel<BF16>."""
    tool = shutil.which("c++filt") or find_tool("cu++filt")
    if not tool or not names:
        return dict(zip(names, names))
    done = subprocess.run([tool], input="\n".join(names), capture_output=True, text=True)
    short = {}
    for name, full in zip(names, done.stdout.splitlines()):
        full = re.sub(r"\(anonymous namespace\)::|\bzrt::|\bcuda::|^void |__half\b",
                      lambda match: "F16" if match.group() == "__half" else "", full)
        depth = 0
        for at, letter in enumerate(full):  # up to the parameters
            depth += {"<": 1, ">": -1}.get(letter, 0)
            if letter == "(" and depth == 0 and at:
                full = full[:at]
                break
        short[name] = re.sub(r"\((?:bool|int)\)|, ", lambda m: "," if m.group() == ", " else "",
                             full)
    return short


def figures_of(source, arch, tools, folder, generated):
    """A list of the figures of the kernels of one file, with generated headers."""
    ptx, cubin = folder / f"{source.stem}.ptx", folder / f"{source.stem}.cubin"
    if source.suffix == ".ptx":
        ptx = source
    else:
        run(tools["nvcc"], *FLAGS, "-I", generated, "-ptx",
            f"-arch={arch.replace('sm', 'compute')}", source, "-o", ptx)
    resources = read_resources(
        run(tools["ptxas"], "-v", f"-arch={arch}", "-O3", "--fmad=false", ptx, "-o", cubin))
    if tools["cuobjdump"]:
        code, pattern, bytes_of = (read_sass(run(tools["cuobjdump"], "-sass", cubin)),
                                   SASS_ACCESS, sass_bytes)
    else:
        code, pattern, bytes_of = read_ptx(ptx.read_text()), PTX_ACCESS, ptx_bytes
    names = demangle(list(resources))
    rows = []
    for name, figures in resources.items():
        row = {"file": source.name, "arch": arch, "kernel": names[name], **figures}
        lines = code.get(name, [])
        row["instructions"] = len(lines)
        count_accesses(lines, pattern, bytes_of, row)
        rows.append(row)
    return sorted(rows, key=lambda row: row["kernel"])


COLUMNS = (("kernel", "kernel"), ("registers", "regs"), ("spills", "spills"),
           ("stack", "stack"), ("shared", "shared"), ("widest_load", "load"),
           ("widest_store", "store"), ("loads", "loads"), ("stores", "stores"),
           ("instructions", "instr"))


def print_table(rows):
    widths = [max([len(title)] + [len(str(row[key])) for row in rows])
              for key, title in COLUMNS]

    def line(cells):
        first, rest = cells[0].ljust(widths[0]), cells[1:]
        print("  ".join([first] + [cell.rjust(width)
                                   for cell, width in zip(rest, widths[1:])]))

    for file, arch in dict.fromkeys((row["file"], row["arch"]) for row in rows):
        print(f"\n{file}, {arch}")
        line([title for _, title in COLUMNS])
        for row in rows:
            if (row["file"], row["arch"]) == (file, arch):
                line([str(row[key]) for key, _ in COLUMNS])


def complaints(rows, no_spills, wide):
    """A line for each kernel that is not as wanted."""
    def matching(pattern):
        found = [row for row in rows if re.search(pattern, row["kernel"])]
        if not found:
            yield f"no kernel's name matches '{pattern}'", None
        for row in found:
            yield f"{row['kernel']} for {row['arch']}", row

    for pattern in no_spills:
        for name, row in matching(pattern):
            if not row:
                yield name
            elif row["spills"] or row["stack"]:
                yield (f"{name} has {row['spills']} bytes of spills and a stack of "
                       f"{row['stack']}; wanted none")
    for pattern in wide:
        for name, row in matching(pattern.removesuffix("-")):
            if not row:
                yield name
                continue
            for kind in ("load",) if pattern.endswith("-") else ("load", "store"):
                if row[f"widest_{kind}"] < 16:
                    yield (f"{name} has no {kind} of 16 bytes, the widest has "
                           f"{row[f'widest_{kind}']}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--arch", default="sm_90", help="with commas between (sm_90)")
    parser.add_argument("--kernels", default="", help="only those whose name matches")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures as well")
    parser.add_argument("--no-spills", action="append", default=[], metavar="REGEX")
    parser.add_argument("--wide", action="append", default=[], metavar="REGEX")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release",
                        help="the build whose generated headers are included")
    return parser.parse_args()


def main():
    options = parse()
    tools = {name: find_tool(name) for name in ("nvcc", "ptxas", "cuobjdump")}
    files = options.files or sorted(KERNELS.glob("*.cu"))
    needed = ("nvcc", "ptxas") if any(f.suffix == ".cu" for f in files) else ("ptxas",)
    for name in needed:
        if not tools[name]:
            raise Failure(f"no {name}: install the CUDA toolkit, or name its folder of "
                          "programs with ZERO_CUDA_BIN")
    generated = options.build / "include"
    if "nvcc" in needed and not (generated / "program/Enums.h.inc").is_file():
        raise Failure(f"no generated headers in {generated}: build with tools/build, or name "
                      "the build with --build")
    release = re.search(r"release (\S+), V(\S+)", run(tools["ptxas"], "--version"))
    print(f"CUDA {release.group(2) if release else '?'}; widths in bytes, numbers of "
          f"{'machine' if tools['cuobjdump'] else 'PTX'} instructions"
          + ("" if tools["cuobjdump"] else " (no cuobjdump was found)"))
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = []
        for arch in options.arch.split(","):
            own = pathlib.Path(folder) / arch
            own.mkdir()
            jobs += [pool.submit(figures_of, file, arch, tools, own, generated) for file in files]
        rows = [row for job in jobs for row in job.result()]
    rows = [row for row in rows if re.search(options.kernels, row["kernel"])]
    print_table(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    wrong = list(complaints(rows, options.no_spills, options.wide))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"kernel_figures.py: {failure}")
