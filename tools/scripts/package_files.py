"""What packages need of the machine that makes them: libraries, who has them, licences."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

# What every machine has on which C++ programs run.
BASE = re.compile(
    r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so\.\d+"
)

# Debian's packages of what is linked into the tools and the runtime.
LINKED_IN = (
    "llvm-22-dev",
    "libzstd-dev",
    "zlib1g-dev",
    "nlohmann-json3-dev",
    "libcli11-dev",
    "libxxhash-dev",
    "liburing-dev",
)


class PackageError(Exception):
    """Why there is no package, for people."""


def output_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PackageError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def libraries_of(file):
    """Name to path of the shared libraries that `file` loads, all of them, but BASE."""
    found = {}
    for line in output_of("ldd", str(file)).splitlines():
        words = line.split()
        if len(words) < 3 or words[1] != "=>" or BASE.fullmatch(words[0]):
            continue
        if words[2] == "not":
            raise PackageError(
                f"'{file}' needs {words[0]}, which is not on this machine: install it"
            )
        found[words[0]] = pathlib.Path(words[2])
    return found


def names_needed_by(file):
    """Names of the shared libraries that `file` asks for by itself, but BASE."""
    names = re.findall(r"NEEDED.*\[(.+)\]", output_of("readelf", "-d", str(file)))
    return [name for name in names if not BASE.fullmatch(name)]


def libraries_in_link_files(folder):
    """The shared libraries that the files of arguments in `folder` name."""
    paths = set()
    for file in folder.glob("*.link"):
        paths.update(re.findall(r'"(/[^"]*\.so[.0-9]*)"', file.read_text()))
    return {os.path.basename(path): pathlib.Path(path) for path in paths}


def owner_of(path):
    """Debian's package that has the file, or None."""
    if not shutil.which("dpkg"):
        return None
    for name in (os.path.realpath(path), str(path), re.sub(r"^/lib", "/usr/lib", str(path))):
        done = subprocess.run(
            ["dpkg", "-S", name], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    return None


def copyright_of(package):
    """The text that Debian has of a package's licence, or None."""
    path = pathlib.Path("/usr/share/doc") / package / "copyright"
    return path.read_text() if path.exists() else None


def install(build, prefix, components):
    """Copies components of a build to the folder `prefix`, which is made anew."""
    shutil.rmtree(prefix, ignore_errors=True)
    for component in components:
        output_of(
            "cmake", "--install", str(build), "--prefix", str(prefix),
            "--component", component, "--strip",
        )  # fmt: skip


def run_tool(main):
    """Runs `main`; its PackageError is one line and exit code 1."""
    try:
        main()
    except PackageError as error:
        sys.exit(f"package: error: {error}")
