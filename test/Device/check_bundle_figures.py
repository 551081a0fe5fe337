"""The rows of figures of the bundle. What they say of times is checked with times that are made
up, and what they read of a run with one on a model of a device.
Usage: check_bundle_figures.py FOLDER"""

import json
import os
import subprocess
import sys

import bundle_programs
import stand_ins

# What zero-device-run does: writes metrics, and a trace, with the seconds that the test gives by
# name and flags; those that it does not name take 0.028 s, and their graph 0.0279 s.
TRAINER = r"""
import json, os, sys
arguments = sys.argv[1:]
def value(flag):
    return arguments[arguments.index(flag) + 1] if flag in arguments else None
name = os.path.basename(arguments[0]).removesuffix(".so")
with open(value("--data"), "rb") as file:
    ids = [low | high << 8 for low, high in zip(*[iter(file.read(20000))] * 2)]
if max(ids.count(each) for each in set(ids[:50])) > 500:
    name += "-text" if ids[:50] == [7] * 50 else "-zipf"
name += "-eager" * ("--eager" in arguments) + "-tuned" * ("--tune-products" in arguments)
seconds = json.loads(os.environ["STAND_IN"]).get(name, 0.028)
if seconds is None:
    sys.exit("error: " + name + " fails")
with open(value("--metrics"), "w") as file:
    for step in range(int(value("--steps"))):
        print(json.dumps({"step_s": seconds if step > 1 else 9.0, "memory": {"all": 1 << 30}}),
              file=file)
if value("--trace"):
    args = {"bytes": 2000000, "update": 2}
    with open(value("--trace"), "w") as file:
        json.dump({"traceEvents": [
            {"ph": "X", "pid": 0, "tid": 8, "cat": "region", "name": "update 2", "ts": 0,
             "dur": 1000, "args": {}},
            {"ph": "X", "pid": 0, "tid": 0, "cat": "kernel", "name": "nn.linear", "ts": 0,
             "dur": 400, "args": args},
            {"ph": "X", "pid": 0, "tid": 0, "cat": "kernel", "name": "launch @addf_0", "ts": 0,
             "dur": 100, "args": args},
            {"ph": "X", "pid": 0, "tid": 0, "cat": "kernel", "name": "launch @mulf_1", "ts": 0,
             "dur": 100, "args": args}]}, file)
if value("--repeat-graph"):
    print("the step's graph alone: 27.9 ms")
print("the kernels' workspace: 32.00 MiB")
print("the device: model; 2.00 GiB of its memory in use")
"""
ADAMW = "echo '{\"update_bytes_per_s\": 2.7e12, \"copy_bytes_per_s\": 3e12, \"share\": %s}'"
TORCH = """import json, os, sys
print(json.dumps({"step_s": float(os.environ["TORCH"]), "torch": "none", "kind": "f32"}))"""


def make(folder, share=0.9, **facts):
    stand_ins.make(folder, f'if [ "$1" = adamw ]; then {ADAMW % share}; else '
                   f"{stand_ins.prints(**facts)}; fi")
    stand_ins.script(os.path.join(folder, "bin", "zero-device-run"), TRAINER, sys.executable)
    models, variants = [], []
    for model in bundle_programs.MODELS:
        every, products = bundle_programs.count_parameters(model)
        models.append({**model, "parameters": every, "product_parameters": products,
                       "predicted": {"H100": {"nn.linear": {"launches": 1, "ms": 0.2,
                                                            "bytes": 1}}}})
    for name, sizes, _, judged, most in bundle_programs.VARIANTS:
        variants.append({"name": "gpt2-124m-" + name, **sizes, "of": "gpt2-124m",
                         "judged": judged, "most": most, "what": name})
    for name, rows in (("models.json", models), ("variants.json", variants)):
        with open(os.path.join(folder, "programs", name), "w") as file:
            json.dump(rows, file)
    with open(os.path.join(folder, "programs", "text.bin"), "wb") as file:
        file.write(b"\7\0" * 1000)


def run(folder, part, *flags, torch=None, patience=None, **seconds):
    variables = {"STAND_IN": json.dumps({name.replace("_", "-"): each
                                         for name, each in seconds.items()})}
    if torch:
        variables["TORCH"] = str(torch)
    if patience:
        variables["ZERO_BUNDLE_PATIENCE"] = patience
    return stand_ins.run(folder, part, *flags, **variables)[0]


def check_measure(folder):
    make(folder)
    rows = run(folder, "measure", gpt2_1558m=0.15, gpt2_small_steps_eager=0.03)
    stand_ins.expect(rows, adamw="passed", gpt2_124m="passed", gpt2_124m_mfu="passed",
                     gpt2_124m_host="passed", gpt2_124m_memory="passed",
                     gpt2_1558m_mfu=("passed", "% of the data sheet"), llama_1b="passed",
                     gpt2_124m_kinds=("passed", "nn.linear 40%, generated 20%"),
                     gpt2_small_steps_graph_or_eager="passed")
    with open(os.path.join(folder, "results", "gpt2-124m-kinds.md")) as file:
        table = file.read()
    for wanted in ("| nn.linear | 1 | 0.400 | 2000000 | 5.0 | 40.0% | 0.200 | 2.00 |",
                   "| generated | 2 | 0.200 | 4000000 | 20.0 | 20.0% | | |"):
        if wanted not in table:
            sys.exit(f"gpt2-124m-kinds.md: no '{wanted}' in\n{table}")
    make(folder, share=0.89)
    rows = run(folder, "measure", gpt2_1558m=0.2, gpt2_124m=0.032, gpt2_small_steps=0.04,
               gpt2_small_steps_eager=0.03, llama_1b=None)
    stand_ins.expect(rows, adamw=("failed", "89.0 %, wanted 90 %"),
                     gpt2_124m_mfu=("failed", "wanted 45 %"), gpt2_124m_host="failed",
                     gpt2_1558m_mfu=("failed", "wanted 50 %"),
                     gpt2_small_steps_graph_or_eager="failed",
                     llama_1b=("failed", "llama-1b fails"),
                     llama_1b_memory=("skipped", "run measure --only llama-1b"))
    make(folder, gpu="another")
    rows = run(folder, "measure", "--only", "gpt2-124m")
    stand_ins.expect(rows, gpt2_124m_mfu=("skipped", "rate of this GPU is not known"))


def check_ratios(folder):
    make(folder)
    names = ("zipf", "text", "tune_products", "vocabulary_50257", "fuse_cross_entropy",
             "no_fuse_moves", "no_fuse_additions")
    rows = run(folder, "ratios")
    stand_ins.expect(rows, **{"gpt2_124m_" + name: "passed" for name in names})
    slower = dict(gpt2_124m_zipf=0.0295, gpt2_124m_text=0.0295, gpt2_124m_tuned=0.0287,
                  gpt2_124m_vocabulary_50257=0.0287, gpt2_124m_fuse_cross_entropy=0.031,
                  gpt2_124m_no_fuse_moves=0.027, gpt2_124m_no_fuse_additions=0.027)
    rows = run(folder, "ratios", **slower)
    stand_ins.expect(rows, **{"gpt2_124m_" + name: "failed" for name in names})
    rows = run(folder, "ratios", "--only", "vocabulary", gpt2_124m_vocabulary_50257=None)
    stand_ins.expect(rows, gpt2_124m_vocabulary_50257=("failed", "50257 fails"))
    stand_ins.replace(os.path.join(folder, "run"), "SECONDS = 520", "SECONDS = 4")
    rows = run(folder, "ratios", patience="1")
    stand_ins.expect(rows, gpt2_124m_zipf=(
        "skipped", "no time is left of 4 s: run ratios --only gpt2-124m-zipf"))


def check_peers(folder):
    make(folder)
    program = os.path.join(folder, "torch_model.py")
    with open(program, "w") as file:
        file.write("print('PyTorch sees no GPU'); exit(77)")
    rows = run(folder, "peers", gpt2_1558m=0.17)
    stand_ins.expect(rows, **{"gpt2-1558m-llm.c": ("passed", "llm.c 46811 as published"),
                              "gpt2-124m-llm.c": ("skipped", "llm.c's figure is of A100")},
                     gpt2_124m_torch=("skipped", "PyTorch sees no GPU"),
                     gpt2_124m_faster=("skipped", "run peers --only gpt2-124m"))
    with open(program, "w") as file:
        file.write(TORCH)
    rows = run(folder, "peers", gpt2_1558m=0.18, torch=0.03)
    stand_ins.expect(rows, **{"gpt2-1558m-llm.c": "failed"}, gpt2_124m_torch="passed",
                     gpt2_124m_torch_bf16="passed", gpt2_1558m_faster="failed",
                     gpt2_124m_faster=("passed", "1.07 times as fast"))


def check_run(folder):
    """Of a real run: its metrics, its trace and what it prints are what the rows read."""
    stand_ins.make(folder, stand_ins.prints(), stand_ins.BENCH)
    subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "bundle_programs.py"),
                    os.path.join(folder, "programs"), "--stand-in"], check=True,
                   stderr=subprocess.DEVNULL)
    rows, _ = stand_ins.run(folder, "measure", "--only", "gpt2-124m")
    stand_ins.expect(rows, gpt2_124m=("passed", "its graph alone"), gpt2_124m_memory="passed",
                     gpt2_124m_kinds=("passed", "nn.attention"), gpt2_124m_eager="passed")
    with open(os.path.join(folder, "results", "gpt2-124m-kinds.md")) as file:
        rows = [line.split(" | ") for line in file if line.startswith("| nn.linear ")]
    if len(rows) != 1 or len(rows[0]) != 8 or float(rows[0][6]) <= 0:
        sys.exit(f"gpt2-124m-kinds.md: nn.linear has no prediction: {rows}")
    rows, _ = stand_ins.run(folder, "measure", "--only", "llama-1b")
    stand_ins.expect(rows, llama_1b="passed", llama_1b_kinds="passed")
    rows, _ = stand_ins.run(folder, "ratios")
    for name, row in rows.items():
        if "ratio" not in row:
            sys.exit(f"{name}: {row}")


def main():
    for check in check_measure, check_ratios, check_peers, check_run:
        check(sys.argv[1])


if __name__ == "__main__":
    main()
