#!/usr/bin/env python3
"""Command lines of the tools that are nearly right: command_lines.py MODELS COUNT SEED

Each is one of those below with words removed, repeated, swapped, or with other
values. A tool must end by itself, and where it refuses, say why. The same
arguments give the same command lines, which run in the working directory.
"""

import os
import random
import shutil
import subprocess
import sys

GUARD = 600  # seconds; what takes one here takes minutes nowhere
VALUES = ["", "-1", "0", "1", "3", "1e308", "nan", "99999999999999999999", "x", "a,b", "{", "'",
          "=", "-", "../none", "2x", "1GiB", "true", "shard=2", "\udcff", "é", "a" * 5000]
TROUBLE = ["<unknown>", "LLVM ERROR", "Assertion", "Stack dump", "PLEASE submit"]


def commands():
    mlp, gpt = "tiny-mlp.mlir", "tiny-gpt.mlir"
    return [
        ["zero-opt", mlp, "--zero-pipeline=stage=2 ranks=2 accumulation=2 overlap=true"],
        ["zero-opt", gpt, "--zero-pipeline=stage=3 mesh=replica=2,shard=2 precision=bf16"],
        ["zero-opt", mlp, "--config", "config.json", "-o", "out.mlir"],
        ["zero-opt", mlp, "--zero-differentiate", "--canonicalize", "--cse"],
        ["zero-compile", mlp, "--config=config.json", "--ranks", "2", "--emit=program", "-o", "p"],
        ["zero-compile", mlp, "--mesh", "replica=2,shard=2", "--stage", "3", "--emit=program",
         "-o", "p"],
        ["zero-plan", "layout", gpt, "--stage", "3", "--ranks", "4"],
        ["zero-plan", "compare", gpt, "--pipeline=stage=1 ranks=2",
         "--pipeline=stage=3 ranks=2"],
        ["zero-plan", "explain", gpt, "@wte.weight", "--pipeline=stage=1 checkpoint-activations=1"],
        ["zero-plan", "estimate", mlp],
        ["zero-plan", mlp, "--stage=2", "--ranks=2", "--trace", "trace.json"],
    ]


def change_word(word, numbers):
    """Another value of an option, or one character less or more."""
    parts = word.split(" ")
    at = numbers.randrange(len(parts))
    key, equals, _ = parts[at].rpartition("=")
    if equals and numbers.random() < 0.7:
        parts[at] = key + "=" + numbers.choice(VALUES)
    else:
        place = numbers.randrange(len(parts[at]) + 1)
        more = numbers.choice(["", "-", "=", "0", "z", "é"])
        parts[at] = parts[at][:place] + more + parts[at][place + (not more):]
    return " ".join(parts)


def mutate(words, others, numbers):
    words = list(words)
    for _ in range(numbers.randint(1, 3)):
        at = numbers.randrange(1, len(words)) if len(words) > 1 else 0
        kind = numbers.randrange(6)
        if kind == 0 and at:
            del words[at]
        elif kind == 1:
            words.append(words[at] if at else "--help")
        elif kind == 2 and at:
            words[at] = numbers.choice(VALUES)
        elif kind == 3:
            words.append(numbers.choice(numbers.choice(others)[1:]))
        elif at:
            words[at] = change_word(words[at], numbers)
    return words


def trouble_of(words):
    """What a tool must not do, and did; empty where there is nothing."""
    try:
        done = subprocess.run([os.fsencode(os.fspath(word)) for word in words],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=GUARD,
                              check=False)
    except subprocess.TimeoutExpired:
        return "does not end", ""
    said = done.stderr.decode(errors="replace")
    if done.returncode < 0 or done.returncode > 128:
        return f"ends by signal {abs(done.returncode) % 128}", said
    if done.returncode != 0 and not said.strip():
        return "fails without a word", said
    found = [sign for sign in TROUBLE if sign in said]
    return (f"says '{found[0]}'" if found else ""), said


def bring(models):
    """Copies of the models, which a command line may replace."""
    for name in ("tiny-mlp.mlir", "tiny-gpt.mlir"):
        shutil.copyfile(os.path.join(models, name), name)


def main(models, count, seed):
    with open("config.json", "w") as file:
        file.write('{"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}}\n')
    right = commands()
    numbers = random.Random(int(seed))
    findings = refused = 0
    for words in right:
        bring(models)
        trouble, said = trouble_of(words)
        if trouble or said.count("error"):
            findings += 1
            print(f"{words} is right, and {trouble or said}")
    for _ in range(int(count)):
        bring(models)
        words = mutate(numbers.choice(right), right, numbers)
        trouble, said = trouble_of(words)
        refused += "error" in said or "argument" in said
        if trouble:
            findings += 1
            print(f"{words} {trouble}: {said[-300:]}")
    print(f"{count} command lines, {findings} findings, {'some' if refused else 'none'} refused")
    return findings > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
