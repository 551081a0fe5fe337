"""Optimizers of PyTorch in the place of the configuration's, and their parameter groups."""

from __future__ import annotations

import copy
import json

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import zero

CONFIG = {"gradient_clipping": 0.0}
KINDS = {
    "AdamW": lambda groups: torch.optim.AdamW(groups, lr=1e-2, eps=1e-4, betas=(0.8, 0.95)),
    "Adam": lambda groups: torch.optim.Adam(groups, lr=1e-2, eps=1e-4, weight_decay=0.1),
    "decoupled": lambda groups: torch.optim.Adam(
        groups, lr=1e-2, eps=1e-4, weight_decay=0.1, decoupled_weight_decay=True
    ),
    "SGD": lambda groups: torch.optim.SGD(groups, lr=0.05, weight_decay=0.1),
    "Nesterov": lambda groups: torch.optim.SGD(groups, lr=0.05, momentum=0.9, nesterov=True),
    "Adagrad": lambda groups: torch.optim.Adagrad(groups, lr=0.05, eps=1e-4),
}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 8))
        self.head = nn.Linear(8, 4)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.body(x)), y)


def batches(count: int) -> list[dict[str, torch.Tensor]]:
    random = torch.Generator().manual_seed(2)
    return [
        {
            "x": torch.randn(8, 6, generator=random),
            "y": torch.randint(4, (8,), generator=random),
        }
        for _ in range(count)
    ]


def groups_of(module: nn.Module) -> list[dict]:
    """A slow body, whose biases are not decayed, and a head at the optimizer's rate."""
    body = dict(module.body.named_parameters())
    return [
        {"params": [p for p in body.values() if p.dim() > 1], "lr": 2e-3, "weight_decay": 0.3},
        {"params": [p for p in body.values() if p.dim() == 1], "lr": 2e-3, "weight_decay": 0.0},
        {"params": list(module.head.parameters()), "name": "head"},
    ]


def a_module() -> Classifier:
    torch.manual_seed(1)
    return Classifier()


def updated(module: nn.Module, optimizer: torch.optim.Optimizer, batch: dict) -> float:
    """The loss of an update by PyTorch."""
    optimizer.zero_grad()
    loss = module(**batch)
    loss.backward()
    optimizer.step()
    return loss.item()


def assert_trained_alike(step: zero.Step, module: nn.Module) -> None:
    for name, parameter in module.named_parameters():
        found = torch.from_numpy(step.parameter(name))
        torch.testing.assert_close(found, parameter.detach(), rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_trains_as_pytorch_does(kind):
    """Each group has its own learning rate and weight decay, of biases as of matrices."""
    module = a_module()
    twin = copy.deepcopy(module)
    optimizer = KINDS[kind](groups_of(twin))
    with zero.compile(
        module, batches(1)[0], config=CONFIG, optimizer=KINDS[kind](groups_of(module))
    ) as step:
        for batch in batches(5):
            loss = updated(twin, optimizer, batch)
            assert step(batch) == pytest.approx(loss, rel=1e-5)
        assert_trained_alike(step, twin)


def test_one_group_decays_all_of_it():
    module = a_module()
    twin = copy.deepcopy(module)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1, weight_decay=0.5)
    given = torch.optim.SGD(
        module.parameters(), lr=torch.tensor([0.1]), weight_decay=0.5, dampening=0.5
    )
    batch = batches(1)[0]
    with zero.compile(module, batch, config=CONFIG, optimizer=given) as step:
        updated(twin, optimizer, batch)
        step(batch)
        assert_trained_alike(step, twin)
        assert "weight decay leaves out" not in step.remarks


class Partly(nn.Module):
    """A layer is wrapped by torch.compile, one reaches no loss, and the loss is steep."""

    def __init__(self):
        super().__init__()
        self.first = torch.compile(nn.Linear(6, 8))
        self.last = nn.Linear(8, 4)
        self.spare = nn.Linear(3, 3)

    def forward(self, x, y):
        return 50 * F.cross_entropy(self.last(torch.tanh(self.first(x))), y)


@pytest.mark.parametrize("updates", [0, 2])
def test_wrapped_layers_and_spare_ones(updates):
    """No gradient is clipped that PyTorch would not clip, either."""
    torch.manual_seed(3)
    module = Partly()
    optimizer = torch.optim.AdamW(
        [
            {"params": [], "lr": 5.0},
            {"params": module.first.parameters(), "weight_decay": 0.5},
            {"params": module.spare.parameters()},
            {"params": module.last.parameters(), "lr": 2e-2},
        ],
        lr=1e-2,
        eps=1e-2,
    )

    for batch in batches(updates):
        updated(module, optimizer, batch)
    with zero.compile(module, batches(1)[0], optimizer=optimizer) as step:
        for batch in batches(3):
            assert step(batch) == pytest.approx(updated(module, optimizer, batch), rel=1e-5)
        assert_trained_alike(step, module)
        rates = {f"group{number}": 0.0 for number in (1, 2, 3)}
        before = step.parameter("last.weight")
        step.set_learning_rate(rates)
        step(batches(1)[0])
        assert (step.parameter("last.weight") == before).all()
        with pytest.raises(zero.ArgumentError, match="in a group 'group0': give one of"):
            step.set_learning_rate({"group0": 0.0})
        for name in ("a\0b", "\ud800"):
            with pytest.raises(zero.ArgumentError, match="is no name of a parameter group"):
                step.set_learning_rate({name: 0.0})


def test_a_state_that_no_gradient_reaches():
    module = Partly()
    optimizer = torch.optim.AdamW(module.parameters())
    sum(p.sum() for p in module.parameters()).backward()
    optimizer.step()
    with pytest.raises(zero.ArgumentError, match="a state of 'spare.weight', and no gradient reac"):
        zero.compile(module, batches(1)[0], optimizer=optimizer)


def test_schedule_of_pytorch():
    """Its rates go to the step by group, over ranks that share the groups."""
    module = a_module()
    twin = copy.deepcopy(module)
    optimizer = torch.optim.SGD(groups_of(twin), lr=0.2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
    given = torch.optim.SGD(groups_of(module), lr=0.2)
    half = {name: value[:4] for name, value in batches(1)[0].items()}
    module.body[1].eval(), twin.body[1].eval()  # statistics of a batch are of a rank's part
    with zero.compile(module, half, config=CONFIG, optimizer=given, ranks=2, stage=3) as step:
        for batch in batches(4):
            rates = [group["lr"] for group in optimizer.param_groups]
            step.set_learning_rate(dict(zip(("group0", "group1", "head"), rates)))
            updated(twin, optimizer, batch)
            schedule.step()
            step(batch)
        assert_trained_alike(step, twin)
        before = step.parameter("head.weight")
        with pytest.raises(
            zero.ArgumentError,
            match="in a group 'heads': give one of 'group0', 'group1', 'head'",
        ):
            step.set_learning_rate({"head": 0.5, "heads": 0.5})
        with pytest.raises(zero.ArgumentError, match="1 is a int, wanted the name of a param"):
            step.set_learning_rate({1: 0.5})
        with pytest.raises(zero.ArgumentError, match="the learning rate is 'fast'"):
            step.set_learning_rate({"head": "fast"})
        step.set_learning_rate({"head": 0.0})
        step(batches(1)[0])
        assert (step.parameter("head.weight") == before).all()


def test_an_imported_model_and_frozen_parameters():
    module = a_module()
    module.body[0].requires_grad_(False)
    optimizer = torch.optim.SGD((p for p in module.parameters() if p.requires_grad), lr=0.1)
    batch = batches(1)[0]
    model = zero.export(module, batch)
    before = model.text
    with pytest.raises(zero.CannotImport, match="the model declares no parameter @other"):
        model.in_groups({"other": "head"})
    with zero.compile(model, config=CONFIG, optimizer=optimizer) as step:
        step(batch)
        assert (step.parameter("body.0.weight") == module.body[0].weight.numpy()).all()
        assert (step.parameter("head.bias") != module.head.bias.detach().numpy()).all()
    assert model.text == before


@pytest.mark.parametrize("kind", KINDS)
def test_goes_on_from_updates_of_pytorch(kind):
    """Weights, running statistics, moments and the count of updates are those of the module and
    its optimizer."""
    module = a_module()
    optimizer = KINDS[kind](groups_of(module))
    frozen = module.body[3].requires_grad_(False)

    for batch in batches(3):
        updated(module, optimizer, batch)
    with zero.compile(
        module, batches(1)[0], config=CONFIG, optimizer=optimizer, ranks=1, stage=2
    ) as step:
        assert step.updates == (0 if kind in ("SGD", "Nesterov") else 3)
        for batch in batches(6)[3:]:
            assert step(batch) == pytest.approx(updated(module, optimizer, batch), rel=1e-5)
        assert_trained_alike(step, module)
        assert (step.parameter("body.3.weight") == frozen.weight.numpy()).all()
        mean = torch.from_numpy(step.parameter("body.1.running_mean"))
        torch.testing.assert_close(mean, module.body[1].running_mean, rtol=1e-4, atol=1e-6)


def test_goes_on_with_a_parameter_that_had_no_gradient():
    module = a_module()
    optimizer = torch.optim.AdamW(module.parameters(), eps=1e-4)
    batch = batches(1)[0]
    module(**batch).backward()
    module.head.bias.grad = None
    optimizer.step()
    with zero.compile(module, batch, config=CONFIG, optimizer=optimizer) as step:
        assert "remark: the optimizer: 'head.bias' had no gradient yet: its exp" in step.remarks
        assert not step.optimizer_state("head.bias", "exp_avg").any()
        assert step.optimizer_state("head.weight", "exp_avg").any()
    with pytest.raises(zero.Error, match="updates of the module's weights, and other weights"):
        zero.compile(module, batch, optimizer=optimizer, weights="w.safetensors")
    module(**batch).backward()
    optimizer.step()
    with pytest.raises(zero.CheckpointError, match="2 times and 'head.bias' 1 times; a run has"):
        zero.compile(module, batch, optimizer=optimizer)


def test_groups_by_patterns_of_the_configuration():
    module = a_module()
    config = {
        "optimizer": {"type": "SGD", "params": {"lr": 0.0}},
        "zero": {"parameter_groups": {"head": {"lr": 0.1, "parameters": ["head.*"]}}},
    }
    batch = batches(1)[0]
    with zero.compile(module, batch, config=config) as step:
        step(batch)
        changed = {
            name
            for name, value in module.named_parameters()
            if (step.parameter(name) != value.detach().numpy()).any()
        }
    assert changed == {"head.weight", "head.bias"}


def refusals(module):
    """What is given, with what is said of it."""
    parameters = list(module.parameters())
    hooked = torch.optim.SGD(parameters, lr=0.1)
    hooked.register_step_post_hook(lambda *_: None)

    def named(name):
        return torch.optim.SGD([{"params": parameters, "name": name}], lr=0.1)

    emptied = torch.optim.SGD(parameters, lr=0.1)
    emptied.param_groups.clear()
    odd = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    odd.state[parameters[0]]["momentum_buffer"] = torch.ones(3)
    twice = [{"params": [p], "name": "same"} for p in parameters]
    betas = [{"params": parameters[:1]}, {"params": parameters[1:], "betas": (0.5, 0.9)}]
    others = [*parameters, nn.Parameter(torch.ones(3))]
    return [
        (torch.optim.RMSprop(parameters), "is a RMSprop, wanted one of torch.optim's AdamW, Adam"),
        ("AdamW", "is a str, wanted one of torch.optim's"),
        (torch.optim.Adam(parameters, amsgrad=True), "amsgrad is True in the group 'group0'"),
        (torch.optim.SGD(parameters, lr=0.1, momentum=0.9, dampening=0.5), "wanted 0: a compiled step has no other"),
        (hooked, "has hooks of its step"),
        (torch.optim.SGD(twice, lr=0.1), "the name 'same', wanted a name of its own"),
        (named("it's"), "of at most 100 characters without quotes"),
        (named(""), "the name '', wanted a name"),
        (torch.optim.SGD(parameters, lr=float("inf")), "lr is inf in the group 'group0', wanted a"),
        (emptied, "has no parameters: give it those of the module"),
        (odd, "momentum_buffer of 'body.0.weight' is \\[3\\], wanted \\[8, 6\\]"),
        (torch.optim.AdamW(betas), "betas is \\(0.5, 0.9\\) in the group 'group1', and \\[0.9, 0.999"),
        (torch.optim.SGD(others, lr=0.1), "group 'group0', \\[3\\] of torch.float32, is none of the"),
        (torch.optim.SGD(parameters[1:], lr=0.1), "'body.0.weight' is in no group of the optimizer"),
    ]


@pytest.mark.parametrize("number", range(14))
def test_refusals(number):
    module = a_module()
    optimizer, text = refusals(module)[number]
    with pytest.raises(zero.ArgumentError, match=text):
        zero.compile(module, batches(1)[0], optimizer=optimizer)


def test_one_of_two_optimizers(tmp_path):
    module, batch = a_module(), batches(1)[0]
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    path = tmp_path / "ds_config.json"
    for config, key in (
        ({"optimizer": {"type": "SGD"}}, "optimizer"),
        ({"zero": {"parameter_groups": {}}}, "zero.parameter_groups"),
    ):
        path.write_text(json.dumps(config))
        for given in (config, path):
            with pytest.raises(zero.Error, match=f"has '{key}', and an optimizer was given"):
                zero.compile(module, batch, config=given, optimizer=optimizer)
    for option in ("--set=zero.parameter_groups.all.lr=1", "--pipeline=optimizer=sgd"):
        with pytest.raises(zero.Error, match="and an optimizer was given as well"):
            zero.compile(module, batch, optimizer=optimizer, options=[option])
    path.write_text('{"train_batch_size": 8} // eight')
    with pytest.raises(zero.Error, match="ds_config.json' is no plain JSON .*take comments and"):
        zero.compile(module, batch, config=path, optimizer=optimizer)
    with pytest.raises(zero.Error, match="the model is a file: say it in the configuration"):
        zero.compile("model.mlir", optimizer=optimizer)
