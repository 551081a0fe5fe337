"""The machine, for results that are read where it is not."""

import importlib.metadata
import json
import os
import platform
import sys

from commands import OUTER, PATIENCE, ROOT, binary, kept, last_lines, run
from libraries import describe_missing, trace

NO_DEVICE = 3  # exit code of zero-device-bench where CUDA sees no GPU
DEVICE_FILE = "/dev/nvidia0"  # is there where the driver has a GPU
# Variables that decide what runs; others are nobody's business.
VARIABLES = ("CUDA", "NCCL", "NVIDIA", "ZERO", "OMPI", "OPAL", "OMP", "SLURM", "LD_LIBRARY_PATH",
             "PYTHONPATH")
PACKAGES = ("nvidia", "torch", "triton")
DESCRIPTIONS = (["nvidia-smi", "-q"], ["nvidia-smi", "topo", "-m"], ["uname", "-a"], ["lscpu"],
                ["free", "-g"], ["cat", "/etc/os-release"])


class Machine:
    """What is here. `missing` says why there is no GPU, or is None; `broken` says why one
    cannot be asked for, or is None: then nothing is known of the target, which is a failure."""

    def __init__(self):
        self.facts, self.missing = {}, None
        self.broken = describe_missing()
        if not self.broken:
            self.ask()
        code, output = run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                           30 * PATIENCE)
        if code == 0 and output.strip():
            self.facts["driver"] = output.split()[0]
        with open(os.path.join(ROOT, "commit")) as file:
            self.facts["commit"] = file.read().strip()
        kept.take()

    def ask(self):
        code, output = run([binary("zero-device-bench"), "device"], 120 * PATIENCE)
        if code == 0:
            self.facts = json.loads(output.splitlines()[-1])
        elif code is None:
            self.broken = "the GPU does not answer within two minutes"
        elif code == NO_DEVICE and os.path.exists(DEVICE_FILE):
            self.broken = f"there is {DEVICE_FILE}, and CUDA sees none: {last_lines(output, 1)}"
        elif code == NO_DEVICE:
            self.missing = last_lines(output, 1)
        else:
            self.broken = f"zero-device-bench: exit code {code}: {last_lines(output)}"

    @property
    def gpus(self):
        return self.facts.get("gpus", 1)

    def describe(self):
        """All that may explain a failure."""
        lines = [f"{key}: {value}" for key, value in self.facts.items()]
        lines += [f"no GPU: {self.missing}"] * bool(self.missing)
        lines += [f"broken: {self.broken}"] * bool(self.broken)
        lines += [f"python: {sys.version}", f"platform: {platform.platform()}", "", "environment:"]
        lines += [f"  {name}={value}" for name, value in sorted(os.environ.items())
                  if name.startswith(VARIABLES)]
        lines += ["", "LD_LIBRARY_PATH of the caller: " + OUTER.get("LD_LIBRARY_PATH", ""), "",
                  "packages:"]
        lines += sorted({f"  {each.metadata['Name']} {each.version}"
                         for each in importlib.metadata.distributions()
                         if str(each.metadata["Name"]).startswith(PACKAGES)})
        for name in ("zero-device-run", "zero-device-bench"):
            lines += ["", f"libraries of {name}:", trace(binary(name))]
        for command in DESCRIPTIONS:
            run(command, 30 * PATIENCE)
        lines += ["", kept.take()]
        return "\n".join(lines)
