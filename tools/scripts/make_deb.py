"""Makes Debian packages of a build: make_deb.py ROOT BUILD OUT

zero-compiler has the tools, what they link executables with, the Python package and the
documents; zero-compiler-dev has what find_package(Zero) finds.
"""

import pathlib
import sys
import tempfile
import tomllib

import package_files
from package_files import PackageError

MAIN = "zero-compiler"
# Of several that link, one is enough.
LINKER = "binutils | lld | g++ | clang"


def needs_of(prefix):
    """Debian's packages that have the libraries of tools and of executables."""
    libraries = dict(package_files.libraries_in_link_files(prefix / "lib" / "zero"))
    for tool in (prefix / "bin").iterdir():
        found = package_files.libraries_of(tool)
        libraries |= {name: found[name] for name in package_files.names_needed_by(tool)}
    owners = {}
    for name, path in libraries.items():
        owner = package_files.owner_of(path)
        if owner:
            owners[owner] = name
        elif "cuda" not in str(path):
            raise PackageError(f"no package of this machine has '{path}', which is needed")
    return sorted(owners)


def control_of(name, project, fields, description):
    lines = [
        f"Package: {name}",
        f"Version: {project['version']}",
        "Architecture: amd64",
        "Maintainer: the authors of zero <maintainers@localhost>",
        "Section: devel",
        "Priority: optional",
        *fields,
        f"Description: {description}",
    ]
    return "\n".join(lines) + "\n"


def pack(folder, name, control, out, root):
    """Packs the installation below `folder`/usr."""
    documents = folder / "usr" / "share" / "doc" / name
    documents.mkdir(parents=True)
    (documents / "copyright").write_text((root / "LICENSE").read_text())
    (folder / "DEBIAN").mkdir()
    (folder / "DEBIAN" / "control").write_text(control)
    out.mkdir(parents=True, exist_ok=True)
    package_files.output_of(
        "dpkg-deb", "--root-owner-group", "-Zzstd", "--build", str(folder), str(out)
    )
    print(out / f"{name}_{control.split('Version: ')[1].split()[0]}_amd64.deb")


def make(root, build, out):
    project = tomllib.loads((root / "tools/python/pyproject.toml").read_text())["project"]
    glibc = "libc6 (>= 2.36), libstdc++6 (>= 12), libgcc-s1"
    with tempfile.TemporaryDirectory(prefix="zero-deb-") as scratch:
        folder = pathlib.Path(scratch) / MAIN
        package_files.install(build, folder / "usr", ["tools", "cuda", "python", "docs"])
        needs = ", ".join([glibc, *needs_of(folder / "usr"), LINKER])
        fields = [
            f"Depends: {needs}",
            "Recommends: libopenmpi3, python3, python3-numpy, python3-xxhash",
        ]
        control = control_of(MAIN, project, fields, "ahead-of-time compiler for ZeRO training")
        pack(folder, MAIN, control, out, root)
        folder = pathlib.Path(scratch) / f"{MAIN}-dev"
        package_files.install(build, folder / "usr", ["development"])
        fields = [
            f"Depends: {MAIN} (= {project['version']})",
            "Recommends: libmlir-22-dev, cmake",
        ]
        control = control_of(
            f"{MAIN}-dev", project, fields, "libraries and headers of zero, for C++"
        )
        pack(folder, f"{MAIN}-dev", control, out, root)


def main():
    if len(sys.argv) != 4:
        raise PackageError("wanted make_deb.py ROOT BUILD OUT")
    make(*(pathlib.Path(word).resolve() for word in sys.argv[1:]))


if __name__ == "__main__":
    package_files.run_tool(main)
