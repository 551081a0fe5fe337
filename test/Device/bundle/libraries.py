"""Where the libraries of the bundle's programs are, and which are missing."""

import glob
import os
import re
import site
import sys

from commands import BIN, ROOT, run

# Packages of pip by the beginning of a library's name. Of cuBLAS, the runtime and the compiler
# those of CUDA 13 have no suffix.
WHEELS = {"libcublas": "nvidia-cublas", "libcudart": "nvidia-cuda-runtime",
          "libnvrtc": "nvidia-cuda-nvrtc", "libcudnn": "nvidia-cudnn", "libnccl": "nvidia-nccl"}
ALWAYS_SUFFIXED = ("libcudnn", "libnccl")
# The C++ library that the programs were built with, for a machine whose own is older.
FALLBACK = os.path.join(ROOT, "lib-fallback")


def set_paths():
    """The bundle's programs and libraries first, then CUDA's wherever they are."""
    folders = [os.path.join(ROOT, "lib"), "/usr/local/cuda/lib64", "/usr/local/cuda/lib"]
    for packages in dict.fromkeys([*sys.path, *site.getsitepackages(),
                                   site.getusersitepackages()]):
        folders += sorted(glob.glob(os.path.join(packages, "nvidia", "*", "lib")))
    known = os.environ.get("LD_LIBRARY_PATH", "")
    os.environ["LD_LIBRARY_PATH"] = ":".join(folders + [known] * bool(known))
    os.environ["PATH"] = BIN + ":" + os.environ.get("PATH", "")
    if os.path.isdir(os.path.join(ROOT, "openmpi")):
        for name, folder in (("PREFIX", ""), ("PKGLIBDIR", "openmpi"), ("BINDIR", "bin"),
                             ("LIBDIR", "lib"), ("PKGDATADIR", "share/openmpi")):
            os.environ["OPAL_" + name] = os.path.join(ROOT, folder)
    os.environ["ZERO_GOLDENS"] = os.path.join(ROOT, "test", "Goldens")
    if any("libstdc++" in name or "libgcc_s" in name for name in missing_names()):
        os.environ["LD_LIBRARY_PATH"] += ":" + FALLBACK


def trace(program):
    """What the dynamic linker says of `program`, which does not run."""
    return run([program], 60, env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"})[1]


def missing_names():
    """Libraries that are not found, or are too old, of all programs."""
    names = set()
    for program in sorted(glob.glob(os.path.join(BIN, "zero-*"))):
        text = trace(program)
        names.update(re.findall(r"(\S+) => not found", text))
        names.update(os.path.basename(path) for path in
                     re.findall(r"(\S+): version `\S+' not found", text))
    return sorted(names)


def package_of(name, cuda):
    """The package of pip that has the library `name`, for that version of CUDA, or None."""
    for begin, package in WHEELS.items():
        if name.startswith(begin):
            suffixed = begin in ALWAYS_SUFFIXED or cuda < 13
            return f"{package}-cu{cuda}" if suffixed else package
    return None


def cuda_of_programs():
    """The version of CUDA that the programs were linked with."""
    with open(os.path.join(ROOT, "cuda")) as file:
        return int(file.read().split(".")[0])


def describe_missing():
    """One sentence about what the programs lack, or None."""
    names = missing_names()
    if not names:
        return None
    packages = {name: package_of(name, cuda_of_programs()) for name in names}
    wanted = sorted({package for package in packages.values() if package})
    others = [name for name, package in packages.items() if not package]
    text = f"{', '.join(names)} not found in LD_LIBRARY_PATH, the toolkit's folders and " \
        "nvidia/*/lib of Python's packages"
    if wanted:
        text += f": pip install {' '.join(wanted)}"
    if others:
        text += f"; {', '.join(others)}: not one of CUDA's, install it from the distribution"
    return text
