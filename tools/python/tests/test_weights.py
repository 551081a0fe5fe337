"""The weights of a run in the module, and from there in a folder of transformers."""

import copy
import pickle

import pytest
import torch
from models import MODELS, VOCABULARY
from safetensors.torch import load_file, save_file
from torch._subclasses.fake_tensor import FakeTensorMode
from training import compare, run, tool, train

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


class Named(torch.nn.Module):
    """Names that are words of Python, or no names there."""

    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleDict({"in": torch.nn.Linear(4, 3), "a'\n\"b": torch.nn.Tanh()})
        self.w = torch.nn.ParameterDict({"lambda": torch.randn(3), "c d\\": torch.randn(3)})
        self.register_buffer("class", torch.randn(3))

    def forward(self, x):
        first, last = self.parts.values()
        y = last(first(x)) * self.w["lambda"] + self.w["c d\\"] + getattr(self, "class")
        return (y * y).mean()


def test_any_names(tmp_path):
    torch.manual_seed(3)
    compare(Named(), {"x": torch.randn(2, 4)}, tmp_path)


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


def test_values_are_those_of_now(tmp_path):
    """Whatever has replaced the module's tensors since it was imported."""
    module, batch = Buffered(), {"x": torch.arange(6)}
    model = zero.export(module, batch)

    def replaced(name, value):
        owner, _, leaf = name.rpartition(".")
        setattr(module.get_submodule(owner), leaf, value)
        model.save_weights(tmp_path / "w.safetensors")
        return load_file(tmp_path / "w.safetensors")

    module.load_state_dict({n: v + 1 for n, v in module.state_dict().items() if n != "mask"}, False)
    wanted = {n: v.clone() for n, v in module.state_dict().items() if n in model.parameters}
    module.load_state_dict(
        {n: v.clone() for n, v in module.state_dict().items()}, strict=False, assign=True
    )
    module.head.weight = module.table.weight
    found = replaced("norm.running_mean", torch.full((4,), 5.0))
    assert found.pop("norm.running_mean").equal(torch.full((4,), 5.0))
    assert all(value.equal(wanted[name]) for name, value in found.items())
    copied = pickle.loads(pickle.dumps(model))
    assert copied.module is None and all(
        value.equal(model.parameters[name]) for name, value in copied.parameters.items()
    )

    def refusal(name, value) -> str:
        before = module.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2]
        kept = getattr(*before)
        with pytest.raises(zero.CannotImport) as caught:
            replaced(name, value)
        setattr(*before, kept)
        return str(caught.value)

    own = torch.nn.Parameter(torch.ones(8, 4))
    assert "'head.weight' was 'table.weight' when the module" in refusal("head.weight", own)
    wide = torch.nn.Parameter(torch.ones(5))
    assert "'norm.weight' is [5] of torch.float32, and was [4]" in refusal("norm.weight", wide)
    assert "'norm.bias' any more, which it had when it was imported: import it again" in refusal("norm.bias", None)
    assert "'mask' has changed since" in refusal("mask", torch.zeros(4))
    assert "'mask' has changed since" in refusal("mask", None)
    freed = torch.nn.Parameter(torch.ones(4))
    freed.untyped_storage().resize_(0)
    assert "'norm.weight' has no memory for its 4 elements" in refusal("norm.weight", freed)
    model.save_weights(tmp_path / "w.safetensors")
    wanted = {name: value.clone() for name, value in model.parameters.items()}
    module.head = torch.compile(module.head, backend="eager")
    model.save_weights(tmp_path / "w.safetensors")
    module.double()
    copied = copy.copy(model).parameters
    assert all(value.equal(copied[name]) for name, value in wanted.items())


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 3), torch.nn.Linear(3, 1)

    def forward(self, x):
        return self.second(self.first(x).tanh()).square().mean()


def test_loading_into_other_modules():
    """All that cannot be written is found before the first tensor is."""
    batch = {"x": torch.randn(2, 4)}
    wrapped = torch.compile(torch.nn.DataParallel(Pair()), backend="eager")
    module = Pair()
    with zero.compile(module, batch, check=False, threads=1) as step:
        step(batch)
        step.load_into(wrapped)
        inside = dict(wrapped._orig_mod.module.named_parameters())
        assert all((inside[n].detach().numpy() == step.parameter(n)).all() for n in inside)
        with pytest.raises(zero.CannotImport, match="has no 'other.weight'"):
            step.load_into(torch.nn.ModuleDict({"other": torch.nn.Linear(4, 3)}))

        def refusal(weight) -> str:
            module.second.weight = torch.nn.Parameter(weight)
            before = module.first.weight.detach().clone()
            with pytest.raises(zero.CannotImport) as caught:
                step.load_into(module)
            assert module.first.weight.equal(before)
            return str(caught.value)

        assert "'second.weight' of the module is on the meta device" in refusal(
            torch.ones(1, 3, device="meta")
        )
        assert "'second.weight' of the module, of strides [1, 0], share memory" in refusal(
            torch.ones(1, 1).expand(1, 3)
        )
        with FakeTensorMode():
            fake = torch.ones(1, 3)
        assert "is a FakeTensor and takes no values: call module.to_empty" in refusal(fake)
        with torch.inference_mode():
            module = Pair()
        step.load_into(module)
        assert (module.first.weight.detach().numpy() == step.parameter("first.weight")).all()
    with zero.compile(wrapped, batch, check=False, threads=1) as step:
        module = Pair()
        step.load_into(module)
        assert all(value.equal(inside[name]) for name, value in module.named_parameters())


class Wrapper(torch.nn.Module):
    """A part has the name that DataParallel gives to all."""

    def __init__(self):
        super().__init__()
        self.module, self.bias = torch.nn.Linear(4, 4), torch.nn.Parameter(torch.randn(4))


def test_names_of_wrappers_have_one_rule(tmp_path):
    source, path = Wrapper(), tmp_path / "w.safetensors"
    state = torch.nn.DataParallel(source).state_dict()
    save_file({name: value.clone() for name, value in state.items()}, path)
    module = Wrapper()
    zero.load_weights(module, path)
    wanted = source.state_dict()
    assert all(value.equal(wanted[name]) for name, value in module.state_dict().items())
    save_file({"bias": torch.ones(4), "module.module.weight": torch.ones(4, 4)}, path)
    with pytest.raises(zero.CannotImport, match="has no 'module"):
        zero.load_weights(module, path)


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
