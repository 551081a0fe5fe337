"""What the bundle reports where something is wrong with the machine, and what it leaves for
whoever has to find out. Usage: check_bundle.py FOLDER"""

import os
import subprocess
import sys
import tarfile

import stand_ins

# What zero-device-bench does: a line of shell, the exit code of the bundle, and what
# its summary says.
MACHINES = {
    "absent": ("echo 'no GPU: none is here'; exit 3", 0, "0 failed"),
    "library": ("echo 'error while loading shared libraries: libnccl.so.2: cannot open'; exit 127",
                1, "0 passed"),
    "crash": ("kill -SEGV $$", 1, "0 passed"),
    "error": ("echo 'zero-device-bench: error: out of memory'; exit 1", 1, "0 passed"),
    "unused": ("echo 'no GPU: CUDA driver version is insufficient'; exit 3", 1, "0 passed"),
}


def check_machines(folder):
    for name, (line, code, summary) in MACHINES.items():
        stand_ins.make(folder, line)
        if name == "unused":
            open(os.path.join(folder, "nvidia0"), "w").close()
        _, done = stand_ins.run(folder, "checks")
        last = done.stdout.splitlines()[-2] if done.stdout else done.stderr
        print(f"{name}: exit code {done.returncode}: {last}")
        if done.returncode != code or summary not in last:
            sys.exit(f"{name}: wanted exit code {code} and '{summary}'\n"
                     f"{done.stdout}{done.stderr}")


def check_archive(folder):
    """A failure's command, exit status and whole output are in the archive."""
    stand_ins.make(folder, stand_ins.prints())
    lines = "; ".join(f"echo line {number}" for number in range(100))
    stand_ins.script(os.path.join(folder, "bin", "zero-cuda-tests"),
                     'case "$1" in *list*) printf "Kernels.\\n  Fails\\n";; '
                     f"*) {lines}; exit 5;; esac")
    stand_ins.run(folder, "checks", "--only", "Kernels.Fails")
    with tarfile.open(os.path.join(folder, "results.tar.gz")) as archive:
        texts = {name.removeprefix("results/"): archive.extractfile(name).read().decode()
                 for name in archive.getnames() if archive.getmember(name).isfile()}
    for name, wanted in (("index.md", "checks/Kernels.Fails.txt"),
                         ("checks/Kernels.Fails.txt", "--gtest_filter"),
                         ("checks/Kernels.Fails.txt", "exit status: 5"),
                         ("checks/Kernels.Fails.txt", "line 0\n"),
                         ("checks/Kernels.Fails.txt", "line 99\n"),
                         ("checks/Kernels.Fails.txt", "run checks --only Kernels.Fails"),
                         ("environment.txt", "nvidia-smi"), ("environment.txt", "python:"),
                         ("environment.txt", "LD_LIBRARY_PATH=")):
        if wanted not in texts.get(name, ""):
            sys.exit(f"results.tar.gz: no '{wanted}' in {name}: {sorted(texts)}\n"
                     f"{texts.get(name)}")
    print("archive: complete")


def compile_c(output, source, *flags):
    subprocess.run(["cc", "-x", "c", "-", "-o", output, *flags], input=source, text=True,
                   check=True)


def check_libraries(folder):
    """Libraries are found in the packages of pip, and one that is not there is named with its
    package."""
    stand_ins.make(folder)
    packages = os.path.join(folder, "site-packages")
    library = os.path.join(packages, "nvidia", "cu13", "lib", "libnccl.so.99")
    os.makedirs(os.path.dirname(library))
    compile_c(library, "int version(void) { return 2; }", "-shared", "-fPIC",
              "-Wl,-soname,libnccl.so.99")
    program = os.path.join(folder, "bin", "zero-device-bench")
    compile_c(program, 'int version(void); int puts(const char *);'
              'int main() { puts("no GPU: none is here"); return version() + 1; }',
              "-L" + os.path.dirname(library), "-l:libnccl.so.99")
    for name in ("cuda-tests", "cuda-conformance", "nccl-tests", "device-run"):
        os.remove(os.path.join(folder, "bin", "zero-" + name))
    rows, _ = stand_ins.run(folder, "sanitize", PYTHONPATH=packages)
    stand_ins.expect(rows, kernels_memcheck=("skipped", "no GPU: none is here"))
    os.remove(library)
    rows, _ = stand_ins.run(folder, "sanitize", PYTHONPATH=packages)
    stand_ins.expect(rows, kernels_memcheck=(
        "failed", "libnccl.so.99 not found in LD_LIBRARY_PATH, the toolkit's folders and "
        "nvidia/*/lib of Python's packages: pip install nvidia-nccl-cu13"))


def check_fallback(folder):
    """The bundle has the C++ library for a machine whose own is missing."""
    stand_ins.make(folder)
    library = os.path.join(folder, "lib-fallback", "libgcc_s.so.99")
    os.makedirs(os.path.dirname(library))
    compile_c(library, "int version(void) { return 2; }", "-shared", "-fPIC",
              "-Wl,-soname,libgcc_s.so.99")
    compile_c(os.path.join(folder, "bin", "zero-device-bench"),
              'int version(void); int puts(const char *);'
              'int main() { puts("no GPU: found"); return version() + 1; }',
              "-L" + os.path.dirname(library), "-l:libgcc_s.so.99")
    rows, _ = stand_ins.run(folder, "sanitize")
    stand_ins.expect(rows, kernels_memcheck=("skipped", "no GPU: found"))


def main():
    for check in check_machines, check_archive, check_libraries, check_fallback:
        check(sys.argv[1])


if __name__ == "__main__":
    main()
