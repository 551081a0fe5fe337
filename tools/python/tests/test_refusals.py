"""What cannot be imported is refused: where, what, and what to do."""

from __future__ import annotations

import contextlib

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import zero
from zero.importer.convert.registry import converts


class Module(nn.Module):
    """A parameter and a function of it."""

    def __init__(self, function, dtype=torch.float32):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4, dtype=dtype))
        self.function = function

    def forward(self, x):
        return self.function(self.w, x)


def refusal(module: nn.Module, **batch) -> str:
    batch = batch or {"x": torch.randn(4, 4)}
    with pytest.raises(zero.CannotImport) as caught:
        zero.export(module, batch)
    return str(caught.value)


def branch(w, x):
    return w.sum() if x.sum() > 0 else w.mean()


def autocast(w, x):
    with torch.autocast("cpu", torch.bfloat16):
        return (w @ x).float().mean()


def without_gradients(w, x):
    with torch.no_grad():
        return (w @ x).mean()


@pytest.mark.parametrize(
    "function, words",
    [
        (branch, "torch.export cannot trace the model"),
        (lambda w, x: w[x > 0].sum(), "depends on values"),
        (autocast, "`bf16` in the configuration"),
        (without_gradients, "does not depend on a parameter that is trained"),
        (lambda w, x: (w * x).mode().values.mean(), "aten.mode.default has no counterpart"),
        (lambda w, x: w.scatter_reduce(0, x.long(), w, "prod").sum(), "reduce = 'prod'"),
        (lambda w, x: w.masked_select(x > 0).sum(), "use torch.where"),
        (lambda w, x: w[x.nonzero()].sum(), "use torch.where"),
        (lambda w, x: torch.index_put(w, (x > 0,), x[0, :1].expand(3)).sum(), "torch.where"),
        (lambda w, x: w * x, "the loss is a tensor<4x4xf32>: wanted one float"),
        (
            lambda w, x: (w * (x.long() @ x.long())).sum(),
            "a product of matrices of torch.int64: convert them to floats, as by .float(), first",
        ),
        (lambda w, x: torch.linalg.qr(w, mode="r")[1].mean(), "use the mode 'reduced'"),
        (
            lambda w, x: (w[:, :0] @ x[:0]).mean() + w.mean(),
            "a tensor<4x0xf32> has no elements, and some are wanted here: leave it out",
        ),
        (lambda w, x: nn.functional.mse_loss(w, x.double()), "a maximum in float64"),
        (
            lambda w, x: torch.linalg.qr(w[:, :2], mode="complete")[0].mean(),
            "of 4 rows and 2 columns with mode = 'complete', which has no gradient in PyTorch",
        ),
        (lambda w, x: torch.linalg.svdvals(w).mean(), "has no counterpart"),
        (lambda w, x: (x.double() @ w.double()).mean(), "a matrix product in float64"),
        (
            lambda w, x: F.conv1d(x[:, None].double(), w[:, None].double()).mean(),
            "a convolution in float64",
        ),
        (lambda w, x: torch.func.grad(lambda y: (y @ w).tanh().sum())(x).mean(), "a derivative"),
        (lambda w, x: torch.func.jacrev(lambda y: y @ w)(x).mean(), "a derivative"),
        (lambda w, x: torch.func.vmap(torch.func.jacrev(torch.tanh))(w @ x).mean(), "a derivative"),
        (lambda w, x: torch.func.jacfwd(torch.tanh)(w @ x).mean(), "a derivative"),
        (lambda w, x: torch.func.hessian(lambda y: (y @ w).tanh().sum())(x).mean(), "a derivative"),
        (
            lambda w, x: torch.autograd.grad(
                F.layer_norm(x @ w, (4,)).tanh().sum(), w, create_graph=True
            )[0].mean(),
            "such as the mean of a layer_norm",
        ),
        (lambda w, x: {"logits": w}, "returns a dict without a loss: return the loss as a tensor"),
        (lambda w, x: (w, None), "returns a tuple without a loss: return the loss as a tensor"),
        (lambda w, x: [w.sum(), w.mean()], "returns a list with 2 scalars, and one of them is"),
        (
            lambda w, x: F.embedding(x.long(), w, scale_grad_by_freq=True).sum(),
            "an embedding with scale_grad_by_freq, which zero has not",
        ),
        (lambda w, x: w.norm(p=0.5), "a vector norm of order 0.5: wanted 0, 1 or more"),
        (lambda w, x: torch.fft.rfft(w).abs().mean(), "torch.fft.fft(torch.eye(n)).real"),
        (lambda w, x: w[1:].as_strided((2, 2), (4, 1), 4).mean(), "call it on x.contiguous()"),
        (
            lambda w, x: torch.eye(33).mul(w[0, 0]).inverse().sum(),
            "of matrices of 33 rows: wanted at most 32, since each row is operations",
        ),
        (lambda w, x: F.linear(x, w[0]).sum(), "a linear layer whose weight has 1 dimensions"),
        (
            lambda w, x: F.avg_pool2d(w[None], 2, ceil_mode=True, divisor_override=3).sum(),
            "an average of a divisor of its own with ceil_mode",
        ),
        (lambda w, x: (w * F.softplus(x.long())).sum(), "math.exp of integers: make floats of"),
        (
            lambda w, x: (F.adaptive_max_pool2d(w[None], 2, True)[1] * w[0, 0]).sum(),
            "result number 1, which the model uses",
        ),
        (
            lambda w, x: F.embedding_bag(x[0].long(), w, torch.tensor([0, 1])).sum(),
            "bags of different sizes, or scale_grad_by_freq",
        ),
        (
            lambda w, x: F.embedding_bag(x[0].long(), w, x[0, :2].long()).sum(),
            "bags of indices by offsets: give a matrix, with a bag a row",
        ),
        (
            lambda w, x: torch.view_as_complex(w.double().view(4, 2, 2)).real.float().sum(),
            "a complex view of torch.float64: wanted float32",
        ),
        (
            lambda w, x: torch.bucketize(x, torch.arange(5000.0)).float().mean() * w.sum(),
            "bucketize with 5000 boundaries: wanted at most 4096",
        ),
        (
            lambda w, x: (w * torch.searchsorted(w[0], x, sorter=torch.arange(4))).sum(),
            "searchsorted.Tensor with sorter = arange, which is not known here",
        ),
        (
            lambda w, x: F.instance_norm(w[None], torch.zeros(4), torch.ones(4), eps=0.1).sum(),
            "instance norm with running statistics: use one without them",
        ),
        (
            lambda w, x: F.nll_loss(w.log_softmax(1), x[0].long(), x[1]),
            "nll_loss with class weights: use cross_entropy",
        ),
    ],
)
def test_operations(function, words):
    assert words in refusal(Module(function))


def test_inputs():
    part = torch.randn(4, 4, dtype=torch.complex64)
    words = refusal(Module(lambda w, x: (w * x.real).mean()), x=part)
    assert "the input 'x' is complex: give its parts as floats" in words
    for kind in (torch.uint16, torch.uint64, torch.float8_e4m3fn):
        words = refusal(Module(lambda w, x: (w * x.float()).mean()), x=torch.ones(4, 4).to(kind))
        assert f"the input 'x' is of {kind}, which has no counterpart: give it in a type" in words
    with pytest.raises(zero.Error, match="forward's arguments to tensors, and a tuple was given"):
        zero.compile(Module(lambda w, x: (w * x).mean()), (torch.randn(4, 4),))


def test_a_loss_in_float64():
    batch = {"x": torch.randn(4, 4)}
    module = Module(lambda w, x: (w * x).mean().double())
    with zero.compile(module, batch, check=False) as step:
        assert step.evaluate(batch) == pytest.approx(module(**batch).item(), rel=1e-5)


def test_a_lazy_layer():
    assert "'weight' of a lazy layer has no shape yet" in refusal(nn.LazyLinear(3))
    assert "'running_mean' of a lazy" in refusal(nn.LazyBatchNorm1d(affine=False))


def test_a_buffer_without_values():
    module = Module(lambda w, x: (w @ x).mean())
    module.register_buffer("mask", torch.zeros(4, device="meta"))
    text = refusal(module)
    assert "the buffer 'b_module_mask' is on the meta device, without values" in text


def test_an_operation_has_one_converter():
    with pytest.raises(ValueError, match="two converters of aten.gelu.default"):
        converts("aten.gelu.default", to="nn.gelu")(lambda b, self: None)


def test_a_branch_is_named_by_its_line():
    line = branch.__code__.co_firstlineno + 1
    assert f"test_refusals.py:{line}: torch.export cannot trace" in refusal(Module(branch))


def test_a_refusal_names_module_and_line():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.ModuleList([Module(lambda w, x: w), Counting()])

        def forward(self, x):
            return self.inner[1](x)

    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(4))

        def forward(self, x):
            return (x * self.w).mode().values.sum()

    text = refusal(Outer())
    line = Counting.forward.__code__.co_firstlineno + 1
    assert f"test_refusals.py:{line}, in module 'inner.1': aten.mode.default" in text


def test_batch_norm_of_a_cumulative_average():
    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=None))

        def forward(self, x):
            return self.layers(x).mean()

    text = refusal(Wrapped())
    assert "momentum" in text and "batch norm" in text, text


def test_a_check_of_labels():
    """Wav2Vec2's CTC loss compares its labels' maximum with the vocabulary."""
    from models.audio import waves
    from models.registry import tokens

    batch = {"input_values": torch.randn(2, 400), "labels": tokens(shape=(2, 6))}
    text = refusal(waves("wav2vec2", "CTC"), **batch)
    assert "modeling_wav2vec2.py:" in text
    assert "depends on the values of a tensor" in text and "leave the check out" in text


def packed(w, x):
    lengths = (x > 0).sum(1)
    nn.utils.rnn.pack_padded_sequence(x[:, :, None], lengths, True, enforce_sorted=False)
    return w.sum()


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda w, x: w.masked_fill(x > 0, 0)[w > 0].prod(), "use torch.where or multiply"),
        (lambda w, x: (w * 1)[x.sum(1) > 0].mean(0, keepdim=True)[:2].sum(), "torch.where"),
        (packed, "test_refusals.py:.*the padded tensor itself.*output.gather at lengths - 1"),
        (
            lambda w, x: F.ctc_loss(w[:, None], torch.ones(1, 2, dtype=torch.long), (4,), (2,)),
            "aten._ctc_loss.default gives a tensor whose shape depends on values",
        ),
        (
            lambda w, x: torch.linalg.lstsq(w, x).solution.sum(),
            "aten.linalg_lstsq.default gives a tensor whose shape depends on values",
        ),
        (
            lambda w, x: torch.cond(x.sum() > 0, lambda z: z * 2, lambda z: z + 1, (w,)).sum(),
            "zero has no torch.cond .*: compute both branches and choose with torch.where",
        ),
    ],
)
def test_what_depends_on_values_has_an_advice(function, words):
    with pytest.raises(zero.CannotImport, match=words):
        zero.export(Module(function), {"x": torch.randn(4, 4)})


def test_a_complex_parameter():
    module = Module(lambda w, x: torch.view_as_real(w).sum(), torch.complex64)
    assert "torch.view_as_complex of it in forward" in refusal(module)


def test_a_disabled_autocast_is_nothing():
    def function(w, x):
        with torch.autocast("cpu", enabled=False):
            return (w @ x).mean()

    assert "2 updates" in zero.check(Module(function), {"x": torch.randn(4, 4)})


def test_a_weight_changed_in_place():
    from models import MODELS

    module, batch = MODELS["rwkv"]()
    assert "changes 'rwkv.blocks.0.attention.output.weight' in place" in refusal(
        module.eval(), **batch
    )


class Rounded(torch.autograd.Function):
    """A rounding that gradients pass."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


@pytest.mark.parametrize("function", [Rounded, Reversed])
def test_a_backward_that_is_no_derivative(function):
    apply = function.apply
    line = (lambda w, x: (apply(w) * x).mean()).__code__.co_firstlineno + 1
    text = refusal(Module(lambda w, x: (apply(w) * x).mean()))
    assert f"test_refusals.py:{line}: {function.__name__} is a torch.autograd.Function" in text
    # Forwards are as they were.
    assert "record" not in function.forward.__qualname__


def test_parameters():
    assert "module.float()" in refusal(Module(lambda w, x: w.sum(), torch.bfloat16))
    module = Module(lambda w, x: (w @ x).mean())
    module.part = nn.Parameter(module.w.data[1:])
    assert "'w' and 'part' are parts of one tensor" in refusal(module)
    module.part = nn.Parameter(module.w.data.T)
    assert "'w' and 'part' are parts of one tensor, or have it in two layouts" in refusal(module)
    module.part = nn.Parameter(module.w.data, requires_grad=False)
    assert "'part', which is frozen, shares the memory of 'w'" in refusal(module)
    module.part = nn.Parameter(torch.ones(1, 4).expand(4, 4))
    assert "'part', of strides [0, 1], share memory" in refusal(module)
    module.part = nn.Parameter(torch.ones(4))
    module.part.untyped_storage().resize_(4)
    assert "'part' has no memory for its 4 elements" in refusal(module)
    with FakeTensorMode():
        module.part = nn.Parameter(torch.ones(4))
    assert "'part' is a FakeTensor, which has no values" in refusal(module)


class Sharing(nn.Module):
    """Keeps the memory of its layer's weight beside it, as what `keep` makes of both."""

    def __init__(self, keep):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.read = keep(self, self.layer.weight)

    def forward(self, x):
        return (self.layer(x) @ self.read()).square().mean()


def as_buffer(module, weight):
    module.register_buffer("table", weight.data.T[1:3])
    return lambda: module.table.T


def as_attribute(module, weight):
    module.table = weight.detach()
    return lambda: module.table


def in_a_list(module, weight):
    module.tables = [weight]
    return lambda: module.tables[0]


def in_a_closure(module, weight):
    return lambda: weight


KEPT = {
    as_buffer: "the buffer 'table' shares the memory of 'layer.weight'",
    as_attribute: "the tensor 'table' shares the memory of 'layer.weight'",
    in_a_list: "the tensor 'tables.0' shares the memory of 'layer.weight'",
    in_a_closure: "the tensor 'read.weight' shares the memory of 'layer.weight'",
}


@pytest.mark.parametrize("keep", KEPT, ids=lambda keep: keep.__name__)
def test_constants_that_training_would_change(keep):
    module = Sharing(keep)
    assert KEPT[keep] in refusal(module)
    # What is frozen stays a constant.
    module.layer.weight.requires_grad_(False)
    assert "2 parameters" in zero.check(module, {"x": torch.randn(4, 4)})


@contextlib.contextmanager
def autocast_on(device: str):
    """On whether there is such a device or not."""
    torch.set_autocast_enabled(device, True)
    try:
        yield
    finally:
        torch.set_autocast_enabled(device, False)


@contextlib.contextmanager
def default_device(device: str):
    torch.set_default_device(device)
    try:
        yield
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize(
    "entered, words",
    [
        (lambda: torch.autocast("cpu", torch.bfloat16), "autocast is on for cpu"),
        (lambda: autocast_on("cuda"), "autocast is on for cuda"),
        (FakeTensorMode, "a FakeTensorMode is active"),
        (lambda: torch.device("meta"), "the default device is meta"),
        (lambda: default_device("meta"), "the default device is meta"),
    ],
)
def test_what_a_module_is_imported_in(entered, words):
    module, batch = Module(lambda w, x: (w @ x).mean()), {"x": torch.randn(4, 4)}
    with entered(), pytest.raises(zero.CannotImport, match=words):
        zero.export(module, batch)
    assert zero.export(module, batch).inputs == ["x"]


def test_the_default_type_is_told():
    module = Module(lambda w, x: (w @ torch.arange(4.0)).mean())
    assert "default dtype" not in refusal(Module(branch))
    torch.set_default_dtype(torch.float64)
    try:
        assert "What forward makes is torch.float64, the default dtype" in refusal(module)
    finally:
        torch.set_default_dtype(torch.float32)


class OneOf(nn.Module):
    """Two layers, of which forward uses one."""

    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x):
        return self.first(x).square().mean()


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_kinds_of_modules():
    assert "found a function, wanted a torch.nn.Module" in refusal(lambda x: x)
    assert "the module is one of TorchScript" in refusal(torch.jit.script(nn.Linear(4, 4)))
    for normed in (nn.utils.parametrizations.spectral_norm, nn.utils.spectral_norm):
        module = OneOf(normed(nn.Linear(4, 4)), nn.Linear(4, 4))
        assert "changes in each step" in refusal(module)
        assert "(take spectral_norm off)" in refusal(module)
        module.first, module.second = module.second, module.first
        zero.export(module, {"x": torch.ones(4, 4)})  # which is not used


@pytest.mark.parametrize("calls", (0, 1))
def test_batch_norm_without_a_reader(calls):
    class Unread(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)

        def forward(self, x):
            h = self.layer(x)
            for _ in range(calls):
                h = self.norm(h)
            self.norm(h * 3 + 1)
            return h.mean()

    module = Unread()
    assert "the output of the batch norm that moves 'norm.running_mean'" in refusal(module)
    module.norm.eval()
    zero.export(module, {"x": torch.randn(4, 4)})
