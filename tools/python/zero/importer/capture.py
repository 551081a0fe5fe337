"""From a module to one functional graph of its loss.

`torch.export` traces the module. What its decompositions would forget is marked
before they run: where a gradient ends.
"""

from __future__ import annotations

import contextlib
import keyword
from typing import Any, Callable, Iterable

import torch
import torch.utils._pytree as pytree
from torch import nn
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx import Graph, GraphModule, Node

from zero.importer.attributes import any_names_written
from zero.importer.caches import caches_emptied
from zero.importer.calls import calls_of
from zero.importer.captured import Average, Captured, needed
from zero.importer.checks import checks_passed
from zero.importer.decompositions import table
from zero.importer.errors import CannotImport
from zero.importer.experts import experts_sorted
from zero.importer.forms import batch_form, input_names
from zero.importer.functions import UnnamedResult, derivatives_explained, own_gradients_checked
from zero.importer.hooks import (
    Hook,
    apply_hooks,
    give_factors,
    hooks_of_parameters,
    hooks_recorded,
    refuse_module_hooks,
)
from zero.importer.modes import modes_watched
from zero.importer.places import place_of, place_of_error
from zero.importer.quiet import tracing_silenced
from zero.importer.results import loss_of, output_of
from zero.importer.saved import results_named
from zero.importer.state import State, Steps, find_constants, refuse_other_constants
from zero.importer.steps import computation_of, kept_values, take_kept
from zero.importer.stopped import dependents, mark_stops
from zero.importer.stops import ALPHA_DROPOUT, GIVEN, KEPT
from zero.importer.surroundings import idle_autocast_passed
from zero.importer.twice import difference
from zero.importer.unseen import regions_seen
from zero.importer.untraceable import untraceable
from zero.importer.writes import memory_of, refuse_writes, written_by


class LossOf(nn.Module):
    """A module as a function of its batch to the loss and further outputs."""

    def __init__(self, module: nn.Module, outputs: tuple[str, ...]):
        super().__init__()
        self.module = module
        self.outputs = outputs
        self.steps = Steps()
        self.surroundings: Callable[[], Any] = contextlib.nullcontext

    def forward(self, **batch):
        with self.surroundings():
            result = self.steps.run(self.module, batch)
        return (loss_of(result), *(output_of(result, name) for name in self.outputs))


def refuse_other_names(batch: dict[str, Any]) -> None:
    """The traced forward has a parameter of each name of the batch."""
    for name in batch:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise CannotImport(
                f"the batch has a tensor named {name!r}, wanted a name that a parameter of "
                "forward can have: letters, digits and _; rename it"
            )


def copies(batch: dict[str, Any]) -> dict[str, Any]:
    """The batch with tensors of its own: export takes two uses of one tensor for
    one input."""
    return {
        name: value.detach().clone() if isinstance(value, torch.Tensor) else value
        for name, value in batch.items()
    }


def capture(
    module: nn.Module,
    batch: dict[str, Any],
    outputs: tuple[str, ...],
    other: Captured | None = None,
) -> Captured | None:
    """Traces `module(**batch)`. Raises CannotImport. None where it calls what the `other`
    trace does, but for dropout."""
    refuse_other_names(batch)
    refuse_cumulative_averages(module)
    refuse_synchronized(module)
    refuse_module_hooks(module)
    hooked = hooks_of_parameters(module)
    wrapper = LossOf(module, outputs)
    # Not `train`, which would set the mode of all layers: some may be in eval mode.
    wrapper.training = module.training
    on_meta = any(parameter.is_meta for parameter in module.parameters())
    buffers = dict(module.named_buffers(remove_duplicate=False))
    wrapper.steps.buffers = buffers
    batch = example = copies(batch)
    if on_meta:
        # Shapes are all that tracing reads. Buffers keep their values beside.
        batch = {k: v.to("meta") if isinstance(v, torch.Tensor) else v for k, v in batch.items()}
        set_buffers(module, {name: value.to("meta") for name, value in buffers.items()})
    again = None
    try:
        with modes_watched() as modes:
            program, hooks = traced(wrapper, batch)
        # Compared where forward asks for its mode, and changes nothing of its module.
        calls = calls_of(program) if modes and not wrapper.steps.changes else []
        if other and calls and calls == other.calls:
            return None
        if wrapper.steps.changes:
            find_constants(wrapper.steps, kept_of(program, buffers, {}))
            again = second_step(wrapper, batch, buffers)
        elif wrapper.steps.other:
            again = next_call(wrapper, batch)
    finally:
        if on_meta:
            set_buffers(module, buffers)
    folded = wrapper.steps.folded
    captured = reduced(program, hooks, module, buffers, hooked, folded)
    if again:
        refuse_another(wrapper.steps, captured, reduced(*again, module, buffers, hooked, folded))
    captured.batch, captured.modes, captured.calls = example, modes, calls
    return captured


def reduced(
    program: ExportedProgram,
    hooks: Hooks,
    module: nn.Module,
    buffers: dict[str, torch.Tensor],
    hooked: dict[str, Hook],
    folded: set[str],
) -> Captured:
    """The traced graph in the operations that converters know, with its stops. It has the
    values of the buffers that are `folded`."""
    take_kept(program.graph)
    refuse_dynamic(program)
    trained = trainable(program, module)
    dependent = dependents(program.graph_module.graph, trained)
    memories = {memory_of(node) for node in dependent} - {None}
    refuse_writes(program.graph_module, owners(program), memories)
    mark_stops(program, dependent)
    apply_hooks(program.graph_module, hooks, hooked_leaves(program, module, hooked))
    program = decomposed(program)
    give_factors(program.graph_module, hooks)
    return bind(program, buffers, folded)


def decomposed(program: ExportedProgram) -> ExportedProgram:
    """The operations that converters know. A buffer of a module with several names has an
    input for each, of which one is used; where it is written, PyTorch wants no other."""
    specs = program.graph_signature.input_specs
    tensors = {**program.constants, **program.state_dict}
    used = {node.name for node in program.graph.nodes if node.op == "placeholder" and node.users}
    buffers = {s.arg.name: id(tensors[s.target]) for s in specs if s.kind == InputKind.BUFFER}
    known = {tensor for name, tensor in buffers.items() if name in used}
    spare = {name for name, tensor in buffers.items() if name not in used and tensor in known}
    for node in list(program.graph.nodes):
        if node.op == "placeholder" and node.name in spare:
            program.graph.erase_node(node)
    specs[:] = [spec for spec in specs if spec.arg.name not in spare]
    for part in program.graph_module.modules():
        if isinstance(part, GraphModule):
            keep_alpha_dropout(part.graph)
    try:
        with any_names_written():
            return program.run_decompositions(table())
    except Exception as error:
        raise CannotImport(untraceable(error), place_of_error(error)) from error


def keep_alpha_dropout(graph: Graph) -> None:
    """Whole, since an evaluation is without it."""
    for node in graph.nodes:
        if node.target in ALPHA_DROPOUTS_IN_PLACE:
            raise CannotImport("alpha dropout in place: leave out inplace=True", place_of(node))
        if node.target not in ALPHA_DROPOUTS:
            continue
        x, p, train = node.args
        if train and p > 0:
            node.target, node.args = ALPHA_DROPOUT, (x, p, ALPHA_DROPOUTS[node.target])
        else:
            node.replace_all_uses_with(x)


ALPHA_DROPOUTS = {
    torch.ops.aten.alpha_dropout.default: False,
    torch.ops.aten.feature_alpha_dropout.default: True,
}
ALPHA_DROPOUTS_IN_PLACE = (
    torch.ops.aten.alpha_dropout_.default,
    torch.ops.aten.feature_alpha_dropout_.default,
)


def traced(wrapper: LossOf, batch: dict[str, Any]) -> tuple[ExportedProgram, Hooks]:
    try:
        return traced_once(wrapper, batch)
    except UnnamedResult:
        wrapper.surroundings = results_named
        return traced_once(wrapper, batch)


def traced_once(wrapper: LossOf, batch: dict[str, Any]) -> tuple[ExportedProgram, Hooks]:
    state = State(wrapper.module)
    try:
        with (
            own_gradients_checked(),
            derivatives_explained(),
            experts_sorted(),
            tracing_silenced(),
            checks_passed(),
            caches_emptied(wrapper.module) as wrapper.steps.empty_caches,
            hooks_recorded() as hooks,
            regions_seen(),
            idle_autocast_passed(),
        ):
            return torch.export.export(wrapper, (), batch, strict=False), hooks
    except CannotImport:
        raise
    except Exception as error:
        raise CannotImport(untraceable(error), place_of_error(error)) from error
    finally:
        state.put_back()


def second_step(
    wrapper: LossOf, batch: dict[str, Any], buffers: dict[str, torch.Tensor]
) -> tuple[ExportedProgram, Hooks]:
    """Traces what follows the step that `wrapper` has run."""
    steps = wrapper.steps
    steps.again = True
    program, hooks = traced(wrapper, batch)
    refuse_writes_to_given(program)
    refuse_other_constants(steps, kept_of(program, buffers, steps.given))
    return program, hooks


def next_call(wrapper: LossOf, batch: dict[str, Any]) -> tuple[ExportedProgram, Hooks] | None:
    """Traces another call, where a second one has asked PyTorch for something else; None where
    it has no trace, and may keep what the first one has made."""
    other, calls = wrapper.steps.other, wrapper.steps.calls
    for _ in range(2):
        try:
            found = traced(wrapper, batch)
        except CannotImport as error:
            if other.is_of_words:
                other.refuse(error)
            return None  # Such as a tensor that an object keeps, which is nothing here.
        if difference(calls, wrapper.steps.calls):
            return found
        # What goes to and fro is the first again.
    other.refuse()


def kept_of(
    program: ExportedProgram, buffers: dict[str, torch.Tensor], given: dict[int, torch.Tensor]
) -> dict[int, torch.Tensor]:
    """The values of what forward assigned that are the same in each step, by its marks."""
    if not any(node.target is KEPT for node in program.graph.nodes):
        return {}
    try:
        # Only here are writes in place and regions without gradients operations like others.
        return kept_values(bind(decomposed(program), buffers), given)
    except Exception:
        return {}  # What is wrong with the graph is said where it is reduced.


def refuse_writes_to_given(program: ExportedProgram) -> None:
    """A table of the first step that the second one writes to is no constant."""
    nodes = [node for part in program.graph_module.modules() for node in part.graph.nodes]
    given = {memory_of(node) for node in nodes if node.target is GIVEN} - {None}
    for node in nodes:
        if given & {memory_of(written) for written in written_by(node)}:
            raise CannotImport(
                "forward writes to a tensor that it assigned in the step before, and zero keeps "
                "nothing from step to step but parameters and running statistics: compute it "
                "in __init__",
                place_of(node),
            )


def refuse_another(steps: Steps, first: Captured, second: Captured) -> None:
    """Where forward changes its module, or asks for something else, each step has to be the
    same."""
    if computation_of(first, {}) != computation_of(second, steps.given):
        if not steps.changes:
            steps.other.refuse()
        names = ", ".join(f"'{change.path}'" for change in steps.changes[:3])
        raise CannotImport(
            f"forward computes something else once it has changed {names}: compute it in "
            "__init__, or leave it out"
        )


def refuse_cumulative_averages(module: nn.Module) -> None:
    """Their weight depends on the number of micro-batches so far."""
    for name, layer in module.named_modules():
        tracks = isinstance(layer, nn.modules.batchnorm._NormBase) and layer.track_running_stats
        if tracks and layer.training and layer.momentum is None:
            raise CannotImport(
                f"the batch norm '{name}' has momentum=None, a cumulative average; give it "
                "a momentum"
            )


def refuse_lazy(module: nn.Module) -> None:
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if nn.parameter.is_lazy(tensor):
            raise CannotImport(
                f"'{name}' of a lazy layer has no shape yet: call the module once with a batch"
            )


def refuse_synchronized(module: nn.Module) -> None:
    """Ranks have statistics of their own micro-batches."""
    for name, layer in module.named_modules():
        if isinstance(layer, nn.SyncBatchNorm) and layer.training:
            raise CannotImport(
                f"'{name}' is a SyncBatchNorm, whose statistics are of all ranks, and zero's are "
                "of one rank's micro-batch: use nn.BatchNorm1d, 2d or 3d, or put it into eval mode"
            )


def set_buffers(module: nn.Module, buffers: dict[str, torch.Tensor]) -> None:
    for name, value in buffers.items():
        owner, _, leaf = name.rpartition(".")
        module.get_submodule(owner)._buffers[leaf] = value


def refuse_dynamic(program) -> None:
    """Checks of values, which nothing needs, are no part of the model."""
    live = needed(program.graph.output_node().all_input_nodes)
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node in live and is_dynamic(value):
            raise CannotImport(
                f"{node.target} has a shape or a number that depends on values, and zero "
                "compiles static shapes: use torch.where or multiply by a mask",
                place_of(node),
            )


def is_dynamic(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(is_dynamic(item) for item in value)
    if isinstance(value, torch.Tensor):
        return any(isinstance(size, torch.SymInt) for size in value.shape)
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


# Where gradients end


def trainable(program, module: nn.Module) -> set[Node]:
    """The placeholders of parameters that training changes."""
    parameters = dict(module.named_parameters(remove_duplicate=False))
    names = {
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind == InputKind.PARAMETER and parameters[own_name(spec.target)].requires_grad
    }
    return {node for node in program.graph.nodes if node.op == "placeholder" and node.name in names}


def hooked_leaves(program, module: nn.Module, hooked: dict[str, Hook]) -> dict[Node, Hook]:
    """The placeholders of parameters with hooks."""
    found = {id(module.get_parameter(name)): hook for name, hook in hooked.items()}
    hook_of = {
        spec.arg.name: found.get(id(module.get_parameter(own_name(spec.target))))
        for spec in program.graph_signature.input_specs
        if spec.kind == InputKind.PARAMETER
    }
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    return {node: hook_of[node.name] for node in placeholders if hook_of.get(node.name)}


def owners(program) -> dict[Node, str]:
    """The placeholders of parameters and inputs, by their names."""
    names = {
        spec.arg.name: own_name(spec.target or spec.arg.name)
        for spec in program.graph_signature.input_specs
        if spec.kind in (InputKind.PARAMETER, InputKind.USER_INPUT)
    }
    return {
        node: names[node.name]
        for node in program.graph.nodes
        if node.op == "placeholder" and node.name in names
    }


# What placeholders stand for


def own_name(target: str) -> str:
    return target.removeprefix("module.")


def bind(program, buffers: dict[str, torch.Tensor], folded: Iterable[str] = ()) -> Captured:
    module: GraphModule = program.graph_module
    for node in list(module.graph.nodes):
        if node.target is torch.ops.aten._assert_tensor_metadata.default:
            module.graph.erase_node(node)
    nodes = {node.name: node for node in module.graph.nodes if node.op == "placeholder"}
    captured = Captured(module.graph, {}, {}, {}, {}, [])
    names = input_names(program)
    for spec in program.graph_signature.input_specs:
        node = nodes[spec.arg.name]
        if spec.kind == InputKind.PARAMETER:
            captured.parameters[node] = own_name(spec.target)
        elif spec.kind == InputKind.BUFFER:
            captured.buffers[node] = own_name(spec.target)
            captured.constants[node] = buffers[own_name(spec.target)].detach()
        elif spec.kind == InputKind.CONSTANT_TENSOR:
            captured.constants[node] = program.constants[spec.target].detach().cpu()
        elif spec.kind == InputKind.USER_INPUT and isinstance(spec.arg, ConstantArgument):
            captured.constants[node] = spec.arg.value
        elif spec.kind == InputKind.USER_INPUT:
            captured.inputs[node] = names[spec.arg.name]
        else:
            kept = program.constants.get(spec.target)
            if isinstance(kept, torch._C.Generator):
                raise CannotImport(
                    "forward draws from a torch.Generator, and a step draws from the run's seed: "
                    "leave `generator` out"
                )
            raise CannotImport(f"the module keeps {spec.target}, of kind {spec.kind.name}")
    names = {spec.target: nodes[spec.arg.name] for spec in program.graph_signature.input_specs}
    constants = {id(buffers[name]) for name in folded}
    constants = {name for name, value in buffers.items() if id(value) in constants}
    bind_results(captured, program, names, constants)
    captured.unread = unread_buffers(captured, program, buffers) - constants
    captured.form = batch_form(program)
    for node, value in captured.constants.items():
        if isinstance(value, torch.Tensor):
            if value.is_meta:
                raise CannotImport(
                    f"the buffer '{node.name}' is on the meta device, without values"
                )
            captured.constants[node] = value.cpu()
    return captured


def unread_buffers(
    captured: Captured, program: ExportedProgram, buffers: dict[str, torch.Tensor]
) -> set[str]:
    """Those that were traced, and that no result depends on, by all of their names."""
    live = {node.name for node in needed(captured.results)}
    inputs = [s for s in program.graph_signature.input_specs if s.kind == InputKind.BUFFER]
    traced = {id(buffers[own_name(spec.target)]) for spec in inputs}
    read = {id(buffers[own_name(spec.target)]) for spec in inputs if spec.arg.name in live}
    return {name for name, value in buffers.items() if id(value) in traced - read}


def bind_results(
    captured: Captured, program, placeholders: dict[str, Node], constants: set[str]
) -> None:
    """What the graph returns, and the buffers that it changes, which are no `constants`."""
    results = list(captured.graph.output_node().args[0])
    moved: dict[str, Node] = {}
    for spec, result in zip(program.graph_signature.output_specs, results):
        if spec.kind == OutputKind.USER_OUTPUT:
            captured.results.append(result)
        elif spec.kind == OutputKind.BUFFER_MUTATION and own_name(spec.target) in constants:
            refuse_change(own_name(spec.target), result)
        elif spec.kind == OutputKind.BUFFER_MUTATION and is_counter(result):
            pass
        elif spec.kind == OutputKind.BUFFER_MUTATION and is_running(result):
            moved[own_name(spec.target)] = result
            track(captured, placeholders[spec.target], own_name(spec.target), result)
        elif spec.kind == OutputKind.BUFFER_MUTATION and is_scratch(program, spec.target, result):
            pass
        elif spec.kind == OutputKind.BUFFER_MUTATION:
            refuse_change(own_name(spec.target), result)
        else:
            raise CannotImport(
                f"forward changes '{own_name(spec.target)}' in place: return a new tensor"
            )
    refuse_unread_norms(moved, needed(captured.results))


def track(captured: Captured, placeholder: Node, name: str, result: Node) -> None:
    """A running statistic; with a momentum of 0 it stays as it is."""
    weight = float(result.args[0].args[6])
    if not 0 <= weight <= 1:
        raise CannotImport(
            f"the momentum of '{name}' is {weight:g}, wanted one from 0 to 1", place_of(result)
        )
    if weight > 0:
        refuse_moved(name, result)
        data = captured.constants.pop(placeholder)
        captured.averages[placeholder] = Average(name, data, weight)


def refuse_unread_norms(moved: dict[str, Node], live: set[Node]) -> None:
    """What no result depends on is left out, statistics that it would move included: those
    of each call of a layer, which moves what the call before has left."""
    for name, result in moved.items():
        calls = [result.args[0]]
        while calls:
            norm = calls.pop()
            if norm not in live:
                raise CannotImport(
                    f"no result depends on the output of the batch norm that moves '{name}': "
                    "use its output, leave the layer out, or put it into eval mode",
                    place_of(norm),
                )
            calls += [value.args[0] for value in norm.args if is_running(value)]


def refuse_moved(name: str, result: Node) -> None:
    """Only the layer itself may read the statistics that it has just moved."""
    for user in result.users:
        if user.op != "output" and str(user.target) != BATCH_NORM:
            raise CannotImport(
                f"'{name}' is read after the batch norm has updated it in this step: read it "
                "before the layer, or put the layer into eval mode",
                place_of(user),
            )


def refuse_change(name: str, result: Any) -> None:
    raise CannotImport(
        f"the buffer '{name}' changes in each step, and zero's "
        "buffers are constants: make it a parameter, or put the layer into eval mode (take "
        "spectral_norm off)",
        place_of(result) if isinstance(result, Node) else None,
    )


def is_scratch(program, name: str, result: Any) -> bool:
    """Whether it is a buffer that nobody saves, and that each step overwrites before it
    reads it, such as the frequencies that a rotary embedding chooses by the length."""
    (spec,) = [s for s in program.graph_signature.input_specs if s.target == name]
    (before,) = [n for n in program.graph.nodes if n.name == spec.arg.name]
    return not spec.persistent and all(
        user.target is torch.ops.aten.copy.default
        and user.args[0] is before
        and user.args[1] is not before
        and user.args[1].meta["val"].shape == before.meta["val"].shape
        for user in before.users
        if user.op != "output"
    )


def is_counter(result: Any) -> bool:
    """Whether it is a batch norm's number of micro-batches, which nothing reads."""
    counter = result
    while isinstance(counter, Node) and str(counter.target) == "aten.add.Tensor":
        counter = counter.args[0]
    return (
        isinstance(counter, Node)
        and counter is not result
        and counter.name.endswith("num_batches_tracked")
    )


def is_running(result: Any) -> bool:
    """Whether it is what a batch norm leaves in a buffer: running statistics."""
    source = result.args[0] if isinstance(result, Node) and result.args else None
    return isinstance(source, Node) and str(source.target) == BATCH_NORM


BATCH_NORM = "aten._native_batch_norm_legit_functional.default"
