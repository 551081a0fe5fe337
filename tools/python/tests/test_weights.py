"""The weights of a run in the module, and from there in a folder of transformers."""

import pytest
import torch
from models import MODELS, VOCABULARY
from safetensors.torch import load_file, save_file
from training import run, tool, train

import zero


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_round_trip(name, tmp_path):
    import transformers

    torch.manual_seed(12)
    module, batch = MODELS[name]()
    module.eval()
    model = zero.export(module, batch)
    config = {"optimizer": {"type": "AdamW", "params": {"lr": 1e-2}}}
    first, _, last = train(model, batch, tmp_path, config, steps=3)
    zero.load_weights(module, tmp_path / "after.safetensors")
    result = module(**batch)
    assert result.loss.item() < last < first
    module.save_pretrained(tmp_path / "folder")
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "folder").eval()
    assert loaded(**batch).logits.equal(result.logits)
    assert result.logits.shape[-1] == VOCABULARY


class Buffered(torch.nn.Module):
    """With tied tables, a mask, running statistics, and a buffer that nothing reads."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(8, 4)
        self.head = torch.nn.Linear(4, 8, bias=False)
        self.head.weight = self.table.weight
        self.norm = torch.nn.BatchNorm1d(4)
        self.register_buffer("mask", torch.tensor([1.0, 0.0, 2.0, 1.0]))
        self.register_buffer("version", torch.tensor(3))
        self.register_buffer("scratch", torch.ones(2), persistent=False)

    def forward(self, x):
        return self.head(self.norm(self.table(x)) * self.mask).square().mean()


def test_state_dicts_as_weights(tmp_path):
    """A file of all that `state_dict` has is one of the model's weights."""
    torch.manual_seed(3)
    module, batch = Buffered(), {"x": torch.arange(6)}
    model = zero.export(module, batch)
    assert 'zero.stored_tensor "head.weight" of @table.weight' in model.text
    assert 'zero.stored_tensor "version"\n' in model.text
    assert "scratch" not in model.text
    model.save(tmp_path / "model.mlir", tmp_path / "weights.safetensors")
    compile_model(tmp_path)
    state = {name: value.clone() for name, value in module.state_dict().items()}

    def trained(state):
        save_file(state, tmp_path / "state.safetensors")
        return one_update(tmp_path, "state.safetensors")

    wanted = one_update(tmp_path, "weights.safetensors")
    changed = {**state, "version": torch.tensor(9), "norm.num_batches_tracked": torch.tensor(5)}
    for given in (state, changed, {n: v for n, v in state.items() if n != "table.weight"}):
        found = trained(given)
        assert found.keys() == wanted.keys()
        assert all(found[name].equal(value) for name, value in wanted.items())
    with pytest.raises(AssertionError, match="buffers of other values .*: mask"):
        trained({**state, "mask": torch.ones(4)})
    with pytest.raises(AssertionError, match="'head.weight' is 'table.weight' in this model"):
        trained({**state, "head.weight": torch.zeros(8, 4)})
    with pytest.raises(AssertionError, match="no parameters of this model: scratch"):
        trained({**state, "scratch": torch.ones(2)})


def compile_model(folder):
    (folder / "config.json").write_text(
        '{"train_micro_batch_size_per_gpu": 6, "zero_optimization": {"stage": 2}}'
    )
    save_file({"x": torch.arange(12) % 8}, folder / "data.safetensors")
    command = [tool("zero-compile"), "model.mlir", "--config", "config.json", "--ranks", "2"]
    run([*command, "-o", "train"], folder)


def one_update(folder, weights):
    """The weights after an update from those in a file."""
    command = ["./train", "--data", "data.safetensors", "--weights", weights, "--steps", "1"]
    run([*command, "--validation-fraction", "0", "--save-weights", "after.safetensors"], folder)
    return load_file(folder / "after.safetensors")


class Masked(torch.nn.Module):
    """With a mask among its parameters."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(4, 4))
        mask = torch.full((4, 4), float("-inf")).triu(1)
        self.mask = torch.nn.Parameter(mask, requires_grad=False)

    def forward(self, x):
        return ((self.w * x + self.mask).softmax(-1) * x).sum()


def test_infinite_weights():
    assert "2 parameters" in zero.check(Masked(), {"x": torch.randn(4, 4)})


def test_refusals(tmp_path):
    module, _ = MODELS["nanogpt"]()
    path = tmp_path / "w.safetensors"
    before = {name: value.clone() for name, value in module.state_dict().items()}

    def refusal() -> str:
        with pytest.raises(zero.CannotImport) as caught:
            zero.load_weights(module, path)
        return str(caught.value)

    assert "w.safetensors' cannot be read as safetensors: " in refusal()
    weights = {name: torch.zeros_like(value) for name, value in before.items()}
    # The table is tied: its second name is not in a file of zero.
    del weights["lm_head.weight"]
    save_file({**weights, "wpe.weight": torch.zeros(3, 3)}, path)
    assert "'wpe.weight' is [3, 3], wanted [16, 32]" in refusal()
    save_file({n: value for n, value in weights.items() if n != "ln_f.bias"}, path)
    assert "has no 'ln_f.bias'" in refusal()
    assert all(value.equal(before[name]) for name, value in module.state_dict().items())
    save_file(weights, path)
    zero.load_weights(module, path)
    assert not any(value.any() for value in module.state_dict().values())
    assert set(load_file(path)) == set(weights)
