"""zero-tokenize: what it writes is what the tokenizer makes of whole documents."""

from __future__ import annotations

import pathlib
import struct
import sys

import numpy
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from training import run, tool

import zero
from zero import tokenizing

TEXT = "Once upon a time, there were 3 tokens; they didn't care.\n\n  Höhe 漢字 the end\n"


def byte_level(path, words=(), size=300) -> Tokenizer:
    """A byte-level tokenizer as GPT-2's, trained on a few words."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<|endoftext|>", *words],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT] * 3, trainer)
    tokenizer.save(str(path))
    return tokenizer


def read(path, magic=20240520, version=1, dtype="<u2") -> list[int]:
    data = path.read_bytes()
    assert struct.unpack("<2I", data[:8]) == (magic, version)
    ids = numpy.frombuffer(data[1024:], dtype)
    assert struct.unpack("<I", data[8:12])[0] == len(ids)
    assert data[12:1024] == bytes(1012)
    return ids.tolist()


def tokenize(folder, *words) -> int:
    return tokenizing.main(["--tokenizer", f"{folder}/t.json", *map(str, words)])


def test_documents(tmp_path, capsys):
    tokenizer = byte_level(tmp_path / "t.json")
    (end,) = tokenizer.encode("<|endoftext|>").ids
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    (tmp_path / "b.txt").write_bytes(b"<doc>\r\none\r\n<doc>\ntwo\n")
    out = tmp_path / "out.bin"
    assert tokenize(tmp_path, "-o", out, tmp_path / "a.txt", tmp_path / "b.txt") == 0
    plain = tokenizer.encode((tmp_path / "b.txt").read_bytes().decode()).ids
    assert read(out) == [end, *tokenizer.encode(TEXT).ids, end, *plain]
    assert "tokens of 2 documents, 16 bits each" in capsys.readouterr().out
    assert tokenize(tmp_path, "--separator", "<doc>", "-o", out, tmp_path / "b.txt") == 0
    one, two = tokenizer.encode("one\r\n").ids, tokenizer.encode("two\n").ids
    assert read(out) == [end, *one, end, *two]
    words = ["--separator", "<doc>", "--no-separator-token", "-o", out]
    assert tokenize(tmp_path, *words, tmp_path / "b.txt") == 0
    assert read(out) == [*one, *two]
    assert [path.name for path in tmp_path.glob("*.partial")] == []


def test_pieces_change_no_token(tmp_path, monkeypatch):
    tokenizer = byte_level(tmp_path / "t.json")
    text = TEXT * 40
    (tmp_path / "a.txt").write_bytes(text.encode())
    wanted = tokenizer.encode(text).ids
    monkeypatch.setattr(tokenizing, "MARGIN", 60)
    for size in (131, 500, 997):
        monkeypatch.setattr(tokenizing, "PIECE", size)
        out = tmp_path / "out.bin"
        assert tokenize(tmp_path, "--no-separator-token", "-o", out, tmp_path / "a.txt") == 0
        assert read(out) == wanted


def test_tokenizers_that_need_whole_documents(tmp_path, monkeypatch, capsys):
    tokenizer = byte_level(tmp_path / "t.json")
    tokenizer.normalizer = normalizers.Prepend("_")
    tokenizer.save(str(tmp_path / "t.json"))
    (tmp_path / "a.txt").write_bytes((TEXT * 40).encode())
    monkeypatch.setattr(tokenizing, "PIECE", 1000)
    assert tokenize(tmp_path, "-o", tmp_path / "o.bin", tmp_path / "a.txt") == 1
    assert "makes other tokens of a document in pieces" in capsys.readouterr().err
    assert not list(tmp_path.glob("o.bin*"))


def test_wide_ids(tmp_path):
    words = [f"<{i}>" for i in range(1 << 16)]
    tokenizer = byte_level(tmp_path / "t.json", words, size=len(words) + 300)
    (tmp_path / "a.txt").write_text("<65535> a")
    out = tmp_path / "out.bin"
    assert tokenize(tmp_path, "-o", out, tmp_path / "a.txt") == 0
    ids = read(out, 20240801, 7, "<u4")
    assert ids == tokenizer.encode("<|endoftext|><65535> a").ids and max(ids) >= 1 << 16


def test_encode_and_decode(tmp_path, capsys):
    tokenizer = byte_level(tmp_path / "t.json")
    assert tokenize(tmp_path, "--encode", TEXT) == 0
    ids = capsys.readouterr().out.strip()
    assert ids == " ".join(map(str, tokenizer.encode(TEXT).ids))
    assert tokenize(tmp_path, "--decode", ids) == 0
    assert capsys.readouterr().out == TEXT + "\n"


def test_samples_of_any_tokenizer(tmp_path, capsys):
    """The executable, between two runs of zero-tokenize, and zero.sample write one text."""
    tokenizer = byte_level(tmp_path / "t.json")
    sizes = "--layers 1 --width 32 --heads 4 --sequence 16 --micro-batch 2 --vocabulary 300"
    generator = pathlib.Path(__file__).parents[3] / "test/Models/generate.py"
    text = run([sys.executable, str(generator), "gpt", *sizes.split()], tmp_path)
    (tmp_path / "model.mlir").write_text(text)
    (tmp_path / "a.txt").write_text(TEXT * 10)
    assert tokenize(tmp_path, "-o", tmp_path / "a.bin", tmp_path / "a.txt") == 0
    run([tool("zero-compile"), "model.mlir", "--ranks=2", "-o", "train"], tmp_path)
    words = "--data a.bin --steps 20 --save-weights w.safetensors --threads 1".split()
    run(["./train", *words], tmp_path)
    capsys.readouterr()
    assert tokenize(tmp_path, "--encode", "they didn't") == 0
    prompt = capsys.readouterr().out.strip()
    words = "--weights w.safetensors --steps 0 --sample 20 --temperature 0 --threads 1".split()
    ids = run(["./train", *words, "--prompt", prompt], tmp_path).splitlines()[-1].strip()
    assert ids.startswith(prompt + " ")
    assert tokenize(tmp_path, "--decode", ids) == 0
    decoded = capsys.readouterr().out.removesuffix("\n")
    first = tokenizer.encode("they didn't").ids
    path, weights = tmp_path / "model.mlir", tmp_path / "w.safetensors"
    with zero.compile(path, ranks=2, threads=1, weights=weights) as step:
        found = zero.sample(step, first, 20, temperature=0)
        drawn = [zero.sample(step, first, 20, seed=seed) for seed in (1, 1, 2)]
        hot = zero.sample(step, first, 50, temperature=1e300)
        for prompt, temperature in ([], 1.0), *((first, t) for t in (-1.0, numpy.nan, numpy.inf)):
            with pytest.raises(zero.ArgumentError, match="a token to begin with"):
                zero.sample(step, prompt, 2, temperature=temperature)
        for prompt, count in ([1.9], 2), ("ab", 2), ([1], 2.5), ([1], -3):
            with pytest.raises(zero.ArgumentError, match="wanted an integer"):
                zero.sample(step, prompt, count)
    assert tokenizer.decode(first + found, skip_special_tokens=False) == decoded
    assert len(set(hot)) > 25  # all 300 tokens are about as likely
    assert drawn[0] == drawn[1] != drawn[2] and all(0 <= token < 300 for token in drawn[0])
    with zero.compile(generator.parent / "tiny-mlp.mlir", threads=1) as step:
        with pytest.raises(zero.ArgumentError, match="an input 'tokens' or 'input_ids'"):
            zero.sample(step, [1], 20)


def test_errors(tmp_path, capsys, monkeypatch):
    byte_level(tmp_path / "t.json")
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 a")
    out = tmp_path / "out.bin"
    for words, wanted in (
        ([], "wanted files and -o FILE.bin"),
        ([tmp_path / "a.txt"], "wanted files and -o FILE.bin"),
        (["--encode", "a", "-o", out], "wanted files and -o FILE.bin"),
        (["--decode", "1 x"], "--decode wants token ids"),
        (["-o", out, tmp_path / "none.txt"], "none.txt': No such file"),
        (["-o", out, tmp_path / "latin.txt"], "latin.txt' is no text in UTF-8"),
        (["-o", out, tmp_path / "empty.txt", "--no-separator-token"], "hold no text"),
        (["-o", out, tmp_path / "a.txt", "--separator-token", "<s>"], "has no token '<s>'"),
        (["-o", tmp_path / "a.txt", tmp_path / "a.txt"], "is read: name another output"),
        (["-o", tmp_path / "no" / "out.bin", tmp_path / "a.txt"], "cannot write"),
    ):
        assert tokenize(tmp_path, *words) == 1
        assert wanted in capsys.readouterr().err
    assert not out.exists() and (tmp_path / "a.txt").read_text() == "a"
    assert tokenizing.main(["--tokenizer", f"{tmp_path}/a.txt", "--encode", "a"]) == 1
    assert "a.txt' is no tokenizer: " in capsys.readouterr().err
    assert tokenizing.main(["--tokenizer", f"{tmp_path}/none.json", "--encode", "a"]) == 1
    assert "none.json' is no file: wanted the tokenizer.json of a model" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert tokenize(tmp_path, "--encode", "a") == 1
    assert "pip install 'zero-compiler[tokenize]'" in capsys.readouterr().err
