"""Compiles models and runs the executables, for the tests in this folder.

Needs the standard library only. Everything is written to the folder that the
test gives; a fault ends the test with one line that says which run it was.
"""

import array
import hashlib
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.normpath(os.path.join(HERE, "..", "Models"))
GOLDENS = os.path.normpath(os.path.join(HERE, "..", "Goldens"))
# Options of a `Setup` that go into these blocks of the configuration.
ZERO_KEYS = ("reduce_bucket_size", "allgather_bucket_size", "overlap_comm",
             "stage3_param_persistence_threshold", "stage3_model_persistence_threshold",
             "stage3_max_reuse_distance", "offload_optimizer", "offload_param",
             "sub_group_size", "zero_hpz_partition_size", "zero_quantized_weights",
             "zero_quantized_nontrainable_weights",
             "zero_quantized_gradients", "zeropp_loco_param")
EXTENSION_KEYS = ("loss_mean", "machine", "cut_rows", "experts", "pipeline_schedule",
                  "pipeline_chunks", "fuse_cross_entropy", "cross_entropy_chunk_bytes",
                  "offload_nvme_min_bytes", "quantized_weights_bits", "quantization_block",
                  "quantized_nontrainable_weights_bits",
                  "quantized_gradients_bits", "quantized_gradients_within")
CHECKPOINT_KEYS = ("checkpoint_every", "checkpoint_layers", "checkpoint_policy",
                   "checkpoint_offload")
FP16_KEYS = ("loss_scale", "hysteresis", "min_loss_scale")
ELEMENT_BYTES = {"f32": 4, "bf16": 2, "f16": 2}
# Where programs run: on the host, or on a GPU through zero-device-run.
TARGET = os.environ.get("ZERO_TEST_TARGET", "host")
# Without it, processes run what differs from ranks that are threads, and not all else again.
ALL_CASES = bool(os.environ.get("ZERO_ALL_TESTS"))
# A folder of programs that were compiled before; none: they are compiled now.
PROGRAMS = os.environ.get("ZERO_TEST_PROGRAMS")
# Relative errors of losses, norms and parameters against what PyTorch recorded.
# The host's are three to five times what runs show. A device adds in other
# orders, and its exponentials are its own.
TOLERANCES = {
    "host": {"loss": {"f32": 2e-6, "bf16": 5e-3, "f16": 1e-3},
             # Norms of single updates scatter more than losses in 16 bits.
             "norm": {"f32": 1e-5, "bf16": 2e-1, "f16": 2e-2},
             "parameters": 1e-5},
    "cuda": {"loss": {"f32": 1e-5, "bf16": 1e-2, "f16": 5e-3},
             "norm": {"f32": 1e-4, "bf16": 2e-1, "f16": 5e-2},
             "parameters": 1e-4},
}[TARGET]


def golden():
    with open(os.path.join(GOLDENS, "training.json")) as file:
        return json.load(file)


def fail(message):
    sys.exit("FAIL: " + message)


def check(condition, message):
    if not condition:
        fail(message)


# Configurations.

def describe(value):
    """An option's value in few words: of an optimizer, its type."""
    if not isinstance(value, dict):
        return value
    return value.get("type") or "-".join(f"{key}={item}" for key, item in sorted(value.items()))


class Setup:
    """One configuration: what is compiled, and its name in messages."""

    def __init__(self, stage, ranks, precision="f32", accumulation=1, deterministic=False,
                 model="tiny-gpt.mlir", **options):
        self.stage, self.ranks, self.precision = stage, ranks, precision
        self.accumulation, self.deterministic = accumulation, deterministic
        self.path, self.options = model, options
        self.model = os.path.basename(model).removesuffix(".mlir")

    @property
    def name(self):
        """What is compiled, in words that fit a file's name."""
        parts = [self.model, f"stage{self.stage}", f"ranks{self.ranks}", self.precision,
                 f"a{self.accumulation}"]
        parts += ["deterministic"] * self.deterministic
        parts += [f"{key}={describe(value)}" for key, value in sorted(self.options.items())]
        words = re.sub(r"[^\w.=]+", "-", "-".join(parts)).strip("-")
        if len(words) <= 200:
            return words
        return words[:180] + "-" + hashlib.sha256(words.encode()).hexdigest()[:12]

    @property
    def axes(self):
        """Sizes by axis of the option `mesh`, "replica=2,shard=3"; empty without one."""
        pairs = (axis.split("=") for axis in self.options.get("mesh", "").split(",") if axis)
        return {name: int(size) for name, size in pairs}

    @property
    def slices(self):
        """Ranks that states are cut over."""
        return self.axes.get("shard", self.ranks)

    def model_file(self):
        """A file of the models' folder, or the path that `model` is."""
        if os.path.isabs(self.path):
            return self.path
        return os.path.join(MODELS, self.path)

    def config(self):
        """A DeepSpeed configuration that trains as the golden does."""
        options, settings = self.options, golden()["settings"]
        zero = {"stage": self.stage, "stage3_param_persistence_threshold": 0,
                "stage3_max_reuse_distance": 0}
        zero.update((key, value) for key, value in options.items() if key in ZERO_KEYS)
        result = {
            "gradient_accumulation_steps": self.accumulation,
            "gradient_clipping": options.get("gradient_clipping", settings["clip"]),
            "optimizer": options.get("optimizer") or {"type": "AdamW", "params": {
                key: options.get(key, settings[key])
                for key in ("lr", "betas", "eps", "weight_decay")}},
            "zero_optimization": zero,
            "zero": {"deterministic": self.deterministic,
                     "split_master": options.get("split_master", False),
                     "layout": options.get("layout", "bucketed")},
        }
        checkpoint = {key.removeprefix("checkpoint_"): options[key]
                      for key in CHECKPOINT_KEYS if key in options}
        if checkpoint:
            result["zero"]["checkpoint_activations"] = checkpoint
        for key in EXTENSION_KEYS:
            if key in options:
                result["zero"][key] = options[key]
        if "aio" in options:
            result["aio"] = options["aio"]
        if "number_checkpoints" in options:
            result["activation_checkpointing"] = {
                "number_checkpoints": options["number_checkpoints"]}
        if "scheduler" in options:
            result["scheduler"] = options["scheduler"]
        if "communication_data_type" in options:
            result["communication_data_type"] = options["communication_data_type"]
        if self.precision == "bf16":
            result["bf16"] = {"enabled": True}
        if self.precision == "f16":
            result["fp16"] = {"enabled": True, **{
                key: options.get(key, settings[key])
                for key in ("initial_scale_power", "loss_scale_window")}}
            result["fp16"].update(
                (key, value) for key, value in options.items() if key in FP16_KEYS)
        return result


def in_files(folder):
    """Options that keep states and parameters in files in `folder`, but for small ones."""
    return {"offload_optimizer": {"device": "nvme", "nvme_path": folder, "pipeline": True},
            "offload_param": {"device": "nvme", "max_in_cpu": 0},
            "offload_nvme_min_bytes": 600, "overlap_comm": True}


def variants(folder, node=1):
    """Options of stage 3 that change no bit, by name; nodes are of `node` ranks, if of more
    than one."""
    result = {
        "overlap": {"overlap_comm": True},
        "recomputed": {"checkpoint_every": 1},
        "on the host": {"offload_optimizer": {"device": "cpu", "pipeline_read": True},
                        "offload_param": {"device": "cpu"}, "overlap_comm": True},
        "in files": in_files(folder),
    }
    if node > 1:
        result["nodes"] = {"zero_hpz_partition_size": node, "overlap_comm": True}
    return result


def generate(folder, name, *arguments):
    """The path of a model that generate.py makes."""
    path = os.path.join(folder, name + ".mlir")
    with open(path, "w") as file:
        subprocess.run([sys.executable, os.path.join(MODELS, "generate.py"), *arguments],
                       stdout=file, check=True)
    return path


def compile_model(folder, setup):
    """The path of the program; compiled once a folder and configuration."""
    name = setup.name + (".so" if TARGET == "cuda" else "")
    path = os.path.join(PROGRAMS or folder, name)
    if os.path.exists(path):
        return path
    check(not PROGRAMS, f"{name} is not in {PROGRAMS}")
    with open(path + ".json", "w") as file:
        json.dump(setup.config(), file, indent=1)
    ranks = ["--mesh", setup.options["mesh"]] if setup.axes else ["--ranks", str(setup.ranks)]
    command = ["zero-compile", setup.model_file(), "--config", path + ".json", *ranks, "-o", path]
    if TARGET == "cuda":
        # The oldest processor that GPUs of today are beside.
        command += ["--target=cuda", "--emit=program", "--cpu=x86-64-v3"]
    if "pipeline" in setup.options:
        command += ["--pipeline", setup.options["pipeline"]]
    if setup.options.get("keep_trivial"):
        command.append("--keep-trivial-collectives")
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == 0,
          f"{setup.name} does not compile:\n{done.stderr[-3000:]}")
    return path


# Runs.

class Run:
    """What an executable printed, measured and saved."""

    def __init__(self, lines, weights, output):
        self.updates = [line for line in lines if "loss" in line]
        self.validation = [line["validation_loss"] for line in lines
                           if "validation_loss" in line]
        self.weights = weights  # path of the saved weights, or None
        self.output = output

    def column(self, key):
        return [update[key] for update in self.updates]


def execute(folder, setup, data="tiny.txt", weights="tiny-gpt.safetensors", steps=None,
            mpi=False, save=True, arguments=(), expect=0, tag="", threads=1, flags=(), seed=None):
    """Runs the program of `setup`; `expect` is its exit code, `flags` come on top."""
    program = compile_model(folder, setup)
    stem = os.path.join(folder, setup.name + ("-mpi" if mpi else "") + tag)
    settings = golden()["settings"]
    runner = ["zero-device-run"] if TARGET == "cuda" else []
    command = [*runner, program, *flags, "--data", os.path.join(GOLDENS, data),
               "--seed", str(settings["seed"] if seed is None else seed),
               "--steps", str(settings["steps"] if steps is None else steps),
               "--threads", str(threads), "--metrics", stem + ".jsonl",
               *(arguments or ["--validation-fraction", "0"])]
    if weights:
        command += ["--weights", os.path.join(GOLDENS, weights)]
    if save:
        command += ["--save-weights", stem + ".safetensors"]
    if mpi:
        command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n",
                   str(setup.ranks), *command]
    # Before it handles SIGPIPE, mpirun may write to a rank that has ended.
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800,
                          restore_signals=not mpi)
    check(done.returncode == expect, f"{os.path.basename(stem)} ends with "
          f"{done.returncode}, not {expect}:\n{done.stderr[-3000:]}")
    with open(stem + ".jsonl") as file:
        lines = [json.loads(line) for line in file]
    return Run(lines, stem + ".safetensors" if save else None, done.stdout + done.stderr)


# Numbers.

def close(name, found, wanted, tolerance):
    """Each number within a relative tolerance; returns the largest error."""
    check(len(found) == len(wanted), f"{name}: {len(found)} values, not {len(wanted)}")
    worst = 0.0
    for index, (a, b) in enumerate(zip(found, wanted)):
        check(a is not None and math.isfinite(a), f"{name}[{index}] is {a}")
        error = abs(a - b) / abs(b)
        check(error <= tolerance, f"{name}[{index}] is {a!r}, wanted {b!r}: relative error "
              f"{error:.3g} above {tolerance:g}")
        worst = max(worst, error)
    return worst


def read_tensors(path):
    """Names and f32 values of a safetensors file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        tensors[name] = widen(entry["dtype"], data[begin:end])
    return tensors


def write_tensors(path, tensors):
    """Writes {name: (shape, values)} as F32, or as I32 where all are integers."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        integers = all(isinstance(value, int) for value in values)
        piece = array.array("i" if integers else "f", values).tobytes()
        header[name] = {"dtype": "I32" if integers else "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def widen(dtype, data):
    values = array.array("f")
    if dtype == "F32":
        values.frombytes(data)
    elif dtype == "BF16":
        values.frombytes(b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)))
    elif dtype == "F16":
        values.extend(struct.unpack(f"<{len(data) // 2}e", data))
    else:
        fail(f"a tensor of type {dtype}")
    return values


def worst_element(found, wanted):
    """Of all tensors, where they differ most beside the largest element of the tensor."""
    def error(name, index):
        size = max(map(abs, wanted[name])) or 1.0
        return abs(found[name][index] - wanted[name][index]) / size

    name, index = max(((name, index) for name, values in wanted.items()
                       for index in range(len(values))), key=lambda place: error(*place))
    return f"{name}[{index}] is {found[name][index]!r}, wanted {wanted[name][index]!r}"


def relative_l2(found, wanted):
    """Of all tensors together."""
    check(found.keys() == wanted.keys(), "the saved names are not the model's: "
          f"{sorted(found.keys() ^ wanted.keys())}")
    difference = square = 0.0
    for name, values in wanted.items():
        check(len(values) == len(found[name]), f"{name} has {len(found[name])} elements")
        difference += sum((a - b) ** 2 for a, b in zip(found[name], values))
        square += sum(b * b for b in values)
    return math.sqrt(difference / square)


def same_bytes(a, b):
    with open(a, "rb") as first, open(b, "rb") as second:
        return first.read() == second.read()


def difference(run, wanted, columns=("loss", "grad_norm", "loss_scale", "skipped")):
    """What two runs do not have in common bit by bit, in words, or None."""
    for key in columns:
        if run.column(key) != wanted.column(key):
            return f"{key} differs: {run.column(key)}, wanted {wanted.column(key)}"
    if run.validation != wanted.validation:
        return f"validation loss differs: {run.validation}, wanted {wanted.validation}"
    if not same_bytes(run.weights, wanted.weights):
        return "the weights differ"
    return None


def arguments(*names):
    """The command line: a folder, which is made, then values for `names`."""
    check(len(sys.argv) == 2 + len(names),
          f"usage: {sys.argv[0]} <folder> {' '.join(f'<{n}>' for n in names)}")
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in os.listdir(sys.argv[1]):
        path = os.path.join(sys.argv[1], name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.remove(path)
    return sys.argv[1:]
