"""The weights of a run in the module, and from there in a folder of transformers."""

import pytest
import torch
from models import MODELS, VOCABULARY
from safetensors.torch import load_file, save_file
from training import train

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

    assert "cannot be read as safetensors" in refusal()
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
