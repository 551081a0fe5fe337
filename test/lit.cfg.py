import os
import platform
import subprocess
import sys

import lit.util

# lit passes the format to its workers, which asks for a module that they can import.
sys.path.insert(0, os.path.dirname(__file__))
import scratch

config.name = "zero"
config.test_format = scratch.ScratchTest(not lit.util.which("bash"))
config.suffixes = [".mlir", ".test"]
config.excludes = ["Models", "Gradients", "Goldens", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.zero_binary_dir + "/test"

path = [config.zero_binary_dir + "/bin", config.llvm_tools_dir, config.environment["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
for name in ("ASAN_OPTIONS", "ZERO_ALL_TESTS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
if os.environ.get("ZERO_ALL_TESTS"):
    config.available_features.add("all-cases")
config.substitutions.append(("%models", config.test_source_root + "/Models"))
config.substitutions.append(("%goldens", config.test_source_root + "/Goldens"))
config.substitutions.append(("%faults", config.zero_binary_dir + "/test/zero-faults.link"))
config.substitutions.append(("%build", config.zero_binary_dir))
config.substitutions.append(("%root", os.path.dirname(config.test_source_root)))
config.substitutions.append(("%llvm", os.path.dirname(config.llvm_include_dir)))
config.substitutions.append(("%lib", config.zero_binary_dir + "/lib"))
config.substitutions.append(("%foreign", config.zero_binary_dir + "/lib/zero_foreign"))
config.substitutions.append(("%python", config.python))
includes = [os.path.dirname(config.test_source_root) + "/include", config.llvm_include_dir]
config.substitutions.append(("%td_includes", " ".join("-I " + folder for folder in includes)))
scripts = os.path.join(os.path.dirname(config.test_source_root), "tools", "scripts")
config.substitutions.append(("%sources", scripts + "/check_sources.py"))
config.substitutions.append(("%clock", scripts + "/check_clock.py"))
config.substitutions.append(("%counts", scripts + "/count_tests.py"))
config.substitutions.append(("%torch_tests", scripts + "/python_tests.py"))
for tool in ("clang-format", "clang-tidy"):
    if lit.util.which(tool + "-22", config.environment["PATH"]):
        config.available_features.add(tool)

if platform.machine() in ("x86_64", "AMD64"):
    config.available_features.add("x86_64")
    config.available_features.add("bench")  # the model of a device switches stacks
# What packages have, and a build for this machine does not.
if config.portable_archs:
    config.available_features.add("portable")
if lit.util.which("qemu-x86_64", config.environment["PATH"]):
    config.available_features.add("qemu")
if lit.util.which("mpirun", config.environment["PATH"]) and config.enable_mpi:
    config.available_features.add("mpi")
# Two network namespaces are as good as two machines, where they can be made.
probe = f"zero-probe-{os.getpid()}"
if lit.util.which("ip", config.environment["PATH"]) and os.geteuid() == 0 and \
        not subprocess.run(["ip", "netns", "add", probe], capture_output=True).returncode:
    subprocess.run(["ip", "netns", "del", probe], check=True)
    config.available_features.add("netns")
# A folder with the files A to K of minimalloc's benchmark `challenging`.
minimalloc = os.environ.get("ZERO_MINIMALLOC")
if minimalloc:
    config.available_features.add("minimalloc")
    config.substitutions.append(("%minimalloc", minimalloc))
# Debian has it in a package of its own, python3-venv.
if not subprocess.run([config.python, "-c", "import ensurepip"], capture_output=True).returncode:
    config.available_features.add("venv")
if lit.util.which("dpkg-deb", config.environment["PATH"]):
    config.available_features.add("dpkg")
# The pages that zero-plan writes are opened by any that runs without a display.
for name in ("chromium-headless-shell", "chromium-shell", "chromium", "google-chrome"):
    browser = lit.util.which(name, config.environment["PATH"])
    if browser:
        config.available_features.add("browser")
        config.substitutions.append(("%browser", browser))
        break
# Limits of time are those of what users run.
if config.sanitized:
    config.available_features.add("sanitized")
if config.have_cuda:
    config.available_features.add("cuda")
    if os.path.exists("/dev/nvidia0"):
        config.available_features.add("gpu")
if config.have_kernel_ptx:
    config.available_features.add("kernel-ptx")
