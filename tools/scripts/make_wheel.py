"""Makes a wheel of the Python package and the tools: make_wheel.py [--this-machine] ROOT BUILD OUT

The tools of BUILD are inside, with the shared libraries that they and what they link need,
but for those that every machine has on which C++ programs run. Executables of the wheel
run their ranks as threads: MPI belongs to a machine, and so do GPUs.

A build whose tools need LLVM's shared libraries gives a wheel for other machines no
more than one of kernels for this CPU does: with --this-machine it is made all the same,
and its name says no more than linux.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import stat
import tempfile
import tomllib
import zipfile

import package_files
from package_files import PackageError

INSIDE = "zero/installed"
SCRIPT = """#!python
import importlib.util
import os
import sys

folder = importlib.util.find_spec("zero").submodule_search_locations[0]
os.execv(os.path.join(folder, "installed", "bin", "{name}"), sys.argv)
"""


def bundle_libraries(installed):
    """Copies the libraries that executables are linked with beside the runtime, with what
    these load; returns where they were."""
    folder = installed / "lib" / "zero"
    linked = package_files.libraries_in_link_files(folder)
    found = {}
    for name, path in linked.items():
        found |= {name: path, **package_files.libraries_of(path)}
    for name, path in found.items():
        shutil.copyfile(path, folder / name)
        (folder / name).chmod(0o755)
    for file in folder.glob("*.link"):
        file.write_text(with_bundled(file.read_text()))
    return found


def with_bundled(text):
    """A file of arguments that names the libraries beside it."""
    if "libzero_runtime" not in text:
        return text
    text = re.sub(r'"/[^"]*/(lib[^/"]*\.so[.0-9]*)"', r'"<CFGDIR>/\1"', text)
    # For all that they load in turn, which newer tags are not.
    path = '-Wl,--disable-new-dtags\n-Wl,-rpath,"<CFGDIR>"\n'
    return re.sub(r'("<CFGDIR>/libzero_runtime)', path + r"\1", text, count=1)


def platform_of(installed, this_machine):
    """The wheel's platform, from what the tools ask for that is not inside."""
    inside = {path.name for path in (installed / "lib" / "zero").iterdir()}
    outside = set()
    for tool in (installed / "bin").iterdir():
        outside.update(set(package_files.names_needed_by(tool)) - inside)
    if outside and not this_machine:
        raise PackageError(
            f"the tools need {', '.join(sorted(outside))}, which other machines lack; make "
            "the wheel of a build with ZERO_STATIC_LLVM, as the preset package is"
        )
    machine = platform.machine()
    if this_machine:
        return f"linux_{machine}"
    return f"manylinux_{platform.libc_ver()[1].replace('.', '_')}_{machine}"


def metadata_of(project, readme):
    """METADATA of the wheel, from [project] of pyproject.toml."""
    lines = ["Metadata-Version: 2.1"]
    lines += [f"Name: {project['name']}", f"Version: {project['version']}"]
    lines += [f"Summary: {project['description']}", f"License: {project['license']['text']}"]
    lines += [f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {need}" for need in project["dependencies"]]
    for extra, needs in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}"]
        lines += [f'Requires-Dist: {need}; extra == "{extra}"' for need in needs]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def licences_of(root, libraries, start_files):
    """Name to text of the licences of what is inside."""
    owners = {package_files.owner_of(path) for path in libraries}
    owners |= set(package_files.LINKED_IN) | set(start_files)
    texts = {owner: package_files.copyright_of(owner) for owner in sorted(filter(None, owners))}
    return {"LICENSE": (root / "LICENSE").read_text()} | {
        f"{owner}.copyright": text for owner, text in texts.items() if text
    }


def write_wheel(path, entries, info):
    """Writes `entries`, name to (bytes, mode), with a RECORD: the same bytes each time."""
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(entries):
            content, mode = entries[name]
            add(archive, name, content, mode)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.append(f"{name},sha256={digest.decode()},{len(content)}")
        record.append(f"{info}/RECORD,,")
        add(archive, f"{info}/RECORD", "\n".join([*record, ""]).encode(), 0o644)


def add(archive, name, content, mode):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFREG | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def collect(folder, prefix, pattern):
    """Name to (bytes, mode) of the files below `folder`."""
    return {
        f"{prefix}/{path.relative_to(folder)}": (
            path.read_bytes(),
            0o755 if os.access(path, os.X_OK) else 0o644,
        )
        for path in folder.rglob(pattern)
        if path.is_file()
    }


def make(root, build, out, this_machine):
    project = tomllib.loads((root / "tools/python/pyproject.toml").read_text())["project"]
    name = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = f"{name}.dist-info"
    with tempfile.TemporaryDirectory(prefix="zero-wheel-") as scratch:
        installed = pathlib.Path(scratch) / "installed"
        package_files.install(build, installed, ["tools"])
        libraries = bundle_libraries(installed)
        system = platform_of(installed, this_machine)
        entries = collect(installed / "bin", f"{INSIDE}/bin", "*")
        entries |= collect(installed / "lib", f"{INSIDE}/lib", "*")
    entries |= collect(root / "tools/python/zero", "zero", "*.py")
    tools = [entry.rsplit("/", 1)[1] for entry in entries if f"{INSIDE}/bin/" in entry]
    for tool in tools:
        entries[f"{name}.data/scripts/{tool}"] = (SCRIPT.format(name=tool).encode(), 0o755)
    scripts = [f"{key} = {value}" for key, value in project["scripts"].items()]
    tag = f"py3-none-{system}"
    texts = {
        "METADATA": metadata_of(project, (root / "README.md").read_text()),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: zero\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "entry_points.txt": "\n".join(["[console_scripts]", *scripts, ""]),
    }
    compiler = ("libgcc-12-dev", "libc6-dev")  # of the files that begin and end executables
    for licence, text in licences_of(root, libraries.values(), compiler).items():
        texts[f"licenses/{licence}"] = text
    entries |= {f"{info}/{key}": (text.encode(), 0o644) for key, text in texts.items()}
    path = out / f"{name}-{tag}.whl"
    out.mkdir(parents=True, exist_ok=True)
    write_wheel(path, entries, info)
    print(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--this-machine", action="store_true")
    for folder in ("root", "build", "out"):
        parser.add_argument(folder, type=lambda text: pathlib.Path(text).resolve())
    words = parser.parse_args()
    make(words.root, words.build, words.out, words.this_machine)


if __name__ == "__main__":
    package_files.run_tool(main)
