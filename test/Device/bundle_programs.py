#!/usr/bin/env python3
"""Compiles the models that the bundle measures, and writes models.json, variants.json,
text.bin and zipf.bin beside them: bundle_programs.py FOLDER [--stand-in]

--stand-in: the same names in sizes that a model of a device can take, for the host.
"""

import collections
import glob
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(HERE, "bundle"))
sys.dont_write_bytecode = True  # the folder is packed
from kinds import by_kind  # noqa: E402
from models import write_tokens, zipf  # noqa: E402

PIPELINE = "precision=bf16 clip=1.0 weight-decay=0.1"
MACHINES = {"H100": "h100", "H200": "h200", "A100": "a100"}  # of zero-plan, by a GPU's name
GPT = {"family": "gpt", "vocabulary": 50304, "context": 1024, "full": True, "eager": False,
       "varied": False, "wanted_mfu": None}
# They do what torch_model.py does. `full`: of a size that people train; `eager`: run without a
# graph, too; `varied`: with other settings and data. The largest is first: it must not lack
# the time.
MODELS = [
    {**GPT, "name": "gpt2-1558m", "layers": 48, "width": 1600, "heads": 25, "micro_batch": 8,
     "steps": 12, "wanted_mfu": 0.5},
    {**GPT, "name": "gpt2-124m", "layers": 12, "width": 768, "heads": 12, "micro_batch": 16,
     "steps": 40, "eager": True, "varied": True, "wanted_mfu": 0.45},
    {**GPT, "name": "llama-1b", "family": "llama", "layers": 22, "width": 2048, "heads": 32,
     "key_heads": 4, "hidden": 5632, "vocabulary": 32000, "context": 2048, "micro_batch": 4,
     "steps": 12},
    {**GPT, "name": "gpt2-small-steps", "layers": 2, "width": 128, "heads": 4, "micro_batch": 1,
     "steps": 400, "full": False, "eager": True},
]
# Of the model that is varied: name, what is different, and which of the two may take at most so
# much of the other's time: the variant where it is `judged`, or the model as it is.
VARIANTS = [
    ("vocabulary-50257", {"vocabulary": 50257}, "", True, 1.02),
    ("fuse-cross-entropy", {}, "fuse-cross-entropy=true", True, 1.1),
    ("no-fuse-moves", {}, "fuse-moves=false", False, 1.02),
    ("no-fuse-additions", {}, "fuse-additions=false", False, 1.02),
]
SMALL = {"layers": 1, "width": 32, "heads": 4, "key_heads": 2, "hidden": 48, "vocabulary": 256,
         "context": 16, "micro_batch": 2, "steps": 6}
SMALL_VOCABULARY = 250


def count_parameters(model):
    """All, and those of products: a table that is only looked up has none."""
    layers, width, vocabulary = (model[key] for key in ("layers", "width", "vocabulary"))
    table = vocabulary * width
    if model["family"] == "gpt":
        every = table + model["context"] * width + 2 * width + \
            layers * (12 * width * width + 13 * width)
        return every, every
    keys = width // model["heads"] * model["key_heads"]
    layer = 2 * width * width + 2 * width * keys + 3 * width * model["hidden"] + 2 * width
    return 2 * table + width + layers * layer, table + width + layers * layer


def generate(model, path):
    sizes = {"layers": "layers", "width": "width", "heads": "heads", "vocabulary": "vocabulary",
             "sequence": "context", "micro-batch": "micro_batch"}
    if model["family"] == "llama":
        sizes.update({"key-heads": "key_heads", "hidden": "hidden"})
    with open(path, "w") as file:
        subprocess.run([sys.executable, os.path.join(ROOT, "test", "Models", "generate.py"),
                        model["family"], *(each for flag, key in sizes.items()
                                           for each in (f"--{flag}", str(model[key])))],
                       stdout=file, check=True)


def compile_model(model, folder, target, options=""):
    print(f"compiling {model['name']}", file=sys.stderr)
    source = os.path.join(folder, model["name"] + ".mlir")
    generate(model, source)
    pipeline = f"--pipeline={PIPELINE} {options}".rstrip()
    subprocess.run(["zero-compile", source, f"--target={target}", "--emit=program",
                    "--cpu=x86-64-v3", pipeline, "-o",
                    os.path.join(folder, model["name"] + ".so")], check=True)
    predicted = {gpu: predict(source, pipeline, machine) for gpu, machine in MACHINES.items()
                 if model["full"] and not options}
    os.remove(source)
    return predicted


def predict(source, pipeline, machine):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        subprocess.run(["zero-plan", source, "--target=cuda", f"--machine={machine}", pipeline,
                        f"--trace={path}"], check=True, stdout=subprocess.DEVNULL)
        with open(path) as file:
            return by_kind(json.load(file)["traceEvents"])[0]


def write_text(path):
    """The project's documents as ids: of words and signs, the most frequent first."""
    texts = []
    for name in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md"))):
        with open(name) as file:
            texts.append(file.read())
    words = re.findall(r"\w+|[^\w\s]|\s+", "\n".join(texts))
    ids = {word: number for number, (word, _) in enumerate(
        collections.Counter(words).most_common())}
    with open(path, "wb") as file:
        file.write(b"".join(ids[word].to_bytes(2, "little") for word in words))


def main():
    folder, small = sys.argv[1], sys.argv[2:] == ["--stand-in"]
    os.makedirs(folder, exist_ok=True)
    target = "host" if small else "cuda"
    models, variants = [], []
    for model in MODELS:
        if small:
            model = {**model, **SMALL}
        model["parameters"], model["product_parameters"] = count_parameters(model)
        models.append({**model, "predicted": compile_model(model, folder, target)})
        if not model["varied"]:
            continue
        for name, sizes, options, judged, most in VARIANTS:
            if small and sizes:
                sizes = {"vocabulary": SMALL_VOCABULARY}
            variant = {"name": f"{model['name']}-{name}", **sizes}
            compile_model({**model, **variant, "full": False}, folder, target, options)
            variants.append({**variant, "of": model["name"], "judged": judged, "most": most,
                             "what": name})
    for name, rows in (("models.json", models), ("variants.json", variants)):
        with open(os.path.join(folder, name), "w") as file:
            json.dump(rows, file, indent=1)
    write_text(os.path.join(folder, "text.bin"))
    write_tokens(os.path.join(folder, "zipf.bin"), itertools.islice(zipf(256), 1 << 13))


if __name__ == "__main__":
    main()
