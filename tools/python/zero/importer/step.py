"""From a captured graph to the text of a step."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.fx import Node

from zero.importer.builder import Builder
from zero.importer.captured import Captured, needed
from zero.importer.convert import convert_node
from zero.importer.doubles import refuse_doubles
from zero.importer.errors import CannotImport, Place
from zero.importer.ir import Names, Value, print_operations, same
from zero.importer.keys import Keys
from zero.importer.layers import Repeated, repeat_layers
from zero.importer.parameters import Parameter, Parameters
from zero.importer.places import place_of
from zero.importer.text import ELEMENTS, location, quoted, symbol


def name_of(node: Node) -> str:
    """What a converter is registered for: "aten.add.Tensor"."""
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target)
    module = getattr(node.target, "__module__", "") or ""
    name = getattr(node.target, "__name__", str(node.target))
    return ("zero." if module.startswith("zero.") else f"{module}.") + name


class StepWriter:
    """Converts the nodes of a graph in order, and prints the module."""

    def __init__(self, captured: Captured, parameters: Parameters, outputs: tuple[str, ...]):
        self.captured = captured
        self.parameters = parameters
        self.outputs = outputs
        self.builder = Builder()
        self.values: dict[Node, Any] = {}
        self.loads: dict[str, Value] = {}
        self.arguments: list[Value] = []
        self.names = Names()
        self.aliases: dict[Place, str] = {}

    def convert(self) -> list[Value]:
        """Emits everything that the results need."""
        self._add_inputs()
        results = self._convert_all()
        if not results[0].trained:
            raise CannotImport(
                "the loss does not depend on a parameter that is trained: is all of the "
                "forward pass in no_grad, or a checkpoint with use_reentrant=True?"
            )
        return results

    def convert_evaluation(self, results: list[Value], evaluated: Captured) -> list[Value]:
        """The results with those of `evaluated` in evaluations, where these are not the same.
        Raises CannotImport, and has then emitted nothing that `results` need."""
        other = copy.copy(self)
        other.captured, other.values = evaluated, {}
        of_input = dict(zip(self.captured.inputs.values(), self.arguments))
        for node, name in evaluated.inputs.items():
            other.values[node] = of_input[name]
        self.builder.is_evaluation = True
        first = len(self.builder.operations)
        found = other._convert_all()
        self._refuse_other_types(results, found)
        results, found = (
            [self.builder.materialize(value) for value in values] for values in (results, found)
        )
        keys = Keys(self.arguments, {id(v): x for x, v in self.builder.emitted.values()})
        shared = keys.add(self.builder.live(results))
        keys.add(self.builder.live(found))
        for operation in self.builder.operations[first:]:
            operation.operands = [keys.shared(v, shared) for v in operation.operands]
        self.builder.move_up(first)
        return [
            training if keys[training] == keys[value] else self.builder.select_mode(training, value)
            for training, value in zip(results, found)
        ]

    def _refuse_other_types(self, results: list[Value], found: list[Value]) -> None:
        for name, training, value in zip(("loss", *self.outputs), results, found):
            if training.type != value.type:
                raise CannotImport(
                    f"the output '{name}' is a {training.type} in training and a {value.type} "
                    "in evaluation"
                )

    def _convert_all(self) -> list[Value]:
        """The results: the loss as one float, and the other outputs."""
        live = needed(self.captured.results)
        for node in self.captured.graph.nodes:
            if node.op == "call_function" and node in live:
                if node not in self.captured.constants:
                    self._convert(node)
        loss, *others = [self.value_of(node) for node in self.captured.results]
        if loss.size != 1 or not loss.is_float:
            raise CannotImport(f"the loss is a {loss.type}: wanted one float")
        # What is differentiated is f32, wider losses included.
        loss = self.builder.cast(loss, torch.float32) if loss.dtype == torch.float64 else loss
        return [self.builder.reshape(loss, ()), *others]

    def _add_inputs(self) -> None:
        for node, name in self.captured.inputs.items():
            example = node.meta["val"]
            if example.dtype.is_complex:
                raise CannotImport(
                    f"the input '{name}' is complex: give its parts as floats, as "
                    "torch.view_as_real has them, and make it complex in forward"
                )
            if example.dtype not in ELEMENTS:
                raise CannotImport(
                    f"the input '{name}' is of {example.dtype}, which has no counterpart: give it "
                    "in a type of at least its range, such as int32, int64 or float32"
                )
            value = Value(tuple(example.shape), example.dtype, name=self.names.take(clean(name)))
            self.values[node] = value
            self.arguments.append(value)
        first = next(iter(self.captured.inputs.values()), "")
        if self.arguments and not self.arguments[0].shape:
            raise CannotImport(
                f"the first tensor of the batch, '{first}', is a scalar: wanted one whose "
                "dimension 0 is the samples of the micro-batch"
            )
        # What differs from it in dimension 0 is shared by all samples.
        self.builder.micro_batch = self.arguments[0].shape[0] if self.arguments else 1

    def _convert(self, node: Node) -> None:
        place = place_of(node)
        self.builder.place = place
        self.builder.hint = clean(node.name)
        if name_of(node) == "_operator.getitem":
            self.values[node] = self._item(*node.args)
            return
        try:
            self.values[node] = convert_node(self.builder, name_of(node), node, self.value_of)
        except CannotImport as error:
            if error.place:
                raise
            raise CannotImport(str(error), place) from None

    def _item(self, node: Node, index: int) -> Any:
        """One of several results."""
        value = self.value_of(node)[index]
        if value is None:
            raise CannotImport(
                f"{name_of(node)} is known here but for its result number {index}, which the "
                "model uses: compute it another way",
                place_of(node),
            )
        return value

    def value_of(self, node: Node) -> Any:
        """The value of a node; parameters are loaded at their first use."""
        if node in self.values:
            return self.values[node]
        if node in self.captured.parameters:
            return self._load(self.parameters.by_name[self.captured.parameters[node]])
        if node in self.captured.averages:
            average = self.captured.averages[node]
            return self._load(self.parameters.average(average.name, average.data, average.weight))
        constant = self.captured.constants[node]
        if isinstance(constant, torch.Tensor):
            constant = self.builder.constant(constant.detach())
        elif isinstance(constant, (list, tuple)):
            constant = [self.builder.constant(c.detach()) for c in constant]
        self.values[node] = constant
        return constant

    def _load(self, parameter: Parameter) -> Value:
        if parameter.name not in self.loads:
            result = (tuple(parameter.data.shape), parameter.data.dtype)
            form = escaped(symbol(parameter.name))
            hint, self.builder.hint = self.builder.hint, clean(parameter.name)
            value = self.builder.add(
                "zero.load", [], [result], form, same, parameter=form, average=parameter.average
            )[0]
            self.builder.hint = hint
            value.trained = not parameter.frozen and parameter.average is None
            self.loads[parameter.name] = value
        return self.loads[parameter.name]

    def inputs_of(self, result: Value) -> set[str]:
        """The names of the inputs that a result depends on in an evaluation."""
        names = {id(v): n for v, n in zip(self.arguments, self.captured.inputs.values())}
        found, known, stack = set(), set(), [result]
        while stack:
            value = stack.pop()
            if id(value) not in known:
                known.add(id(value))
                found |= {names[id(value)]} if id(value) in names else set()
                operands = value.op.operands if value.op else []
                selects = bool(value.op) and value.op.kind == "zero.select_mode"
                stack += operands[1:] if selects else operands
        return found

    # Text

    def text(
        self, results: list[Value], stored: list[str], repeated: Repeated | None = None
    ) -> str:
        """The module, with declarations of what is `stored` besides its parameters; with
        `repeated` all of its layers are written."""
        results = [self.builder.materialize(value) for value in results]
        live = self.builder.live(results)
        refuse_doubles(live, results[0])
        if repeated:
            live, results = repeat_layers(live, results, repeated)
        body = print_operations(live, self.names, self._location)
        yielded = ", ".join(value.name for value in results)
        names = ", ".join(quoted(name) for name in self.outputs)
        types = ", ".join(value.type for value in results)
        body.append(
            f"  zero.yield {yielded}" + (f" outputs [{names}]" if names else "") + f" : {types}"
        )
        arguments = ", ".join(
            f'{value.name}: {value.type} {{zero.input = {quoted(name)}}}'
            for name, value in zip(self.captured.inputs.values(), self.arguments)
        )
        lines = [p.declaration() for p in self.parameters.all()] + stored
        lines += ["", f"zero.step @train({arguments}) {{", *body, "}"]
        if self.aliases:
            lines += [""] + [
                f"{alias} = loc({location(place)})" for place, alias in self.aliases.items()
            ]
        return "\n".join(lines) + "\n"

    def _location(self, place: Place) -> str:
        if not location(place):
            return ""
        if place not in self.aliases:
            self.aliases[place] = f"#loc{len(self.aliases)}"
        return f"loc({self.aliases[place]})"


def escaped(text: str) -> str:
    """As part of an operation's form."""
    return text.replace("{", "{{").replace("}", "}}")


def clean(name: str) -> str:
    """A name that is allowed after '%'."""
    kept = "".join(c if c.isascii() and c.isalnum() or c in "_.$-" else "_" for c in name)
    return kept if kept and not kept[0].isdigit() else "v" + kept
