"""A compiled training step: all ranks as threads of this process."""

from __future__ import annotations

import ctypes
import os
import tempfile
import warnings
from numbers import Integral
from typing import Any, Iterable, Iterator, Mapping, Sequence, Union

import numpy

from zero.arrays import NAMES, View, as_floats, room_for, values_of, whole_number
from zero.batches import BatchForm
from zero.checkpoints import (
    CheckpointError,
    SavedRun,
    is_foreign,
    is_own,
    read_checkpoint,
    write_checkpoint,
)
from zero.data import Shuffled, refuse_short_batch
from zero.described import Tensor, Update
from zero.errors import ArgumentError, StateError
from zero.given import GIVEN, Gradients, Views
from zero.library import (
    Array,
    Library,
    Model,
    Options,
    Piece,
    Result,
    TensorInfo,
    UpdateInfo,
)
from zero.locks import OfProcess
from zero.names import nearest
from zero.prediction import Completed
from zero.progress import Progress
from zero.rates import rate_of, rates_of
from zero.skips import Skips
from zero.states import parameters_in, set_all

Batch = Union[Mapping[str, Any], Sequence[Mapping[str, Any]]]
Data = Union[Mapping[str, Any], str, os.PathLike, Iterable[Batch]]


def load(path: str | os.PathLike, **run) -> Step:
    """Starts a run of a library that `zero-compile --emit=shared` wrote; `Step` has
    the options."""
    return Step(path, **run)


class Step:
    """A run. `step(batch)` makes one update and returns the loss.

    `seed`, `threads` (of a rank), `weights` (a safetensors file to start from),
    `loss_scale`, `overcommit`, `timeout` (seconds without progress; negative: for
    ever), `nvme_path` and `self_check` are the executable's flags. A run with
    `self_check=N` checks its first update and every N-th: what stays wrong is an
    `Error`, and the rest a `RuntimeWarning`; updates are made in one part then.

    A batch is a mapping from the inputs' names to arrays: NumPy's, PyTorch's on the
    CPU, or anything else that speaks DLPack or the array interface. Dense arrays of
    the input's type are read where they are; i64 stands for i32 where values fit, and
    floats for floats of another width. Dimension 0 counts samples: `update_samples` in an update.
    A batch may also be a sequence of such mappings, which follow each other: the
    micro-batches of an update, for instance.

    Calls of several threads wait for each other. An interrupt (Ctrl-C) takes effect
    when the update that runs is done, so that the state is always that between two
    updates.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        *,
        seed: int = 0,
        threads: int = 0,
        weights: str | os.PathLike | None = None,
        loss_scale: float = 0.0,
        overcommit: bool = False,
        timeout: float = 0.0,
        nvme_path: str | os.PathLike | None = None,
        self_check: int = 0,
    ):
        # The library writes to both, so that nothing is lost where an interrupt
        # rises as a call returns.
        self._run = ctypes.c_void_p()
        self._report = UpdateInfo()
        self._lock = OfProcess("run")
        self._seed = seed = whole_number("seed", seed, 2**64)
        threads = whole_number("threads", threads, 2**31)
        self_check = whole_number("self_check", self_check, 2**63)
        self._checks_itself = self_check > 0
        self._skips, self._described = Skips(), False
        self._library = Library(path)
        self._describe()
        self.aliases: dict[str, str] = {}
        # Parameter groups of the optimizer that it was compiled with, of which nothing is trained.
        self.idle_groups: set[str] = set()
        # As `zero.Model.buffers`.
        self.buffers: dict[str, str | None] = {}
        # By output, the inputs that it depends on, where the import has told.
        self.uses: dict[str, set[str]] = {}
        self.form = BatchForm()
        self.check, self.remarks = "not compared with PyTorch: it is a library", ""
        options = Options(
            seed=seed,
            threads=threads,
            overcommit=overcommit,
            loss_scale=loss_scale,
            timeout=timeout,
            weights=os.fsencode(weights) if weights is not None else None,
            nvme_path=os.fsencode(nvme_path) if nvme_path is not None else None,
            self_check=self_check,
        )
        self._library.call("zero_run_create", ctypes.byref(options), ctypes.byref(self._run))

    def _describe(self) -> None:
        model = Model()
        self._library.call("zero_model_describe", ctypes.byref(model))
        self.name = model.name.decode()
        self.stage, self.ranks = model.stage, model.ranks
        self.accumulation = model.accumulation
        self.micro_batch, self.update_samples = model.micro_batch, model.update_samples
        self.deterministic = bool(model.deterministic)
        self.given_gradients = GIVEN[model.given_gradients]
        self.update_micro_batches = self.update_samples // self.micro_batch
        inputs = [self._tensor("zero_model_input", i) for i in range(model.inputs)]
        parameters = [self._tensor("zero_model_parameter", i) for i in range(model.parameters)]
        outputs = [self._tensor("zero_model_output", i) for i in range(model.outputs)]
        self.inputs = {tensor.name: tensor for tensor in inputs}
        self.outputs = {tensor.name: tensor for tensor in outputs}
        self.parameters = {tensor.name: tensor for tensor in parameters}

    def _tensor(self, function: str, index: int) -> Tensor:
        found = TensorInfo()
        self._library.call(function, index, ctypes.byref(found))
        states = []
        for state in range(found.states):
            name = ctypes.c_char_p()
            self._library.call("zero_model_state", index, state, ctypes.byref(name))
            states.append(name.value.decode())
        return Tensor(
            found.name.decode(),
            tuple(found.shape[: found.dimensions]),
            NAMES[found.type],
            bool(found.trainable),
            tuple(states),
        )

    # Training

    def __call__(
        self, batch: Batch | None = None, *, gradients: Gradients | None = None, **arrays
    ) -> float:
        """One update; the mean loss. `last` then tells the rest.

        `gradients` is for a step that was compiled with `given_gradients`: the gradients of
        each micro-batch's mean loss, before anything is reduced, averaged, scaled or
        clipped. It is a sequence of one mapping from parameters' names to arrays for each
        of the `update_micro_batches`, in the order of a batch, or one mapping to arrays with
        micro-batches along dimension 0. What is left out, or None, is 0: with "add" the
        gradient is then that of the loss. With "instead" there is no batch, and the loss
        is NaN."""
        if gradients is None and (batch is None) == (not arrays):
            raise ArgumentError("give a batch, or arrays by name")
        if batch is not None and arrays:
            raise ArgumentError("give a batch, or arrays by name, and not both")
        self._forget_data()
        return self._update(arrays or None if batch is None else batch, gradients)

    def _update(self, batch: Batch | None, gradients: Gradients | None = None) -> float:
        report = ctypes.byref(self._report)
        try:
            if gradients is not None:
                done = self._with_gradients("zero_run_step_gradients", batch, gradients, report)
            elif batch is None:
                done = self._call("zero_run_step", None, 0, report)
            else:
                done = self._with_batch("zero_run_step", batch, report)
        finally:  # An update that fails may have told why before.
            if self._checks_itself:
                self._tell_notices()
        self._skips.tell(done, stacklevel=4)
        return done.loss

    def _tell_notices(self) -> None:
        notices = ctypes.c_char_p()
        self._call("zero_run_notices", ctypes.byref(notices))
        for line in notices.value.decode().splitlines():
            warnings.warn(line, RuntimeWarning, stacklevel=4)

    @property
    def last(self) -> Update | None:
        """What the last update of this run did; None before the first."""
        return Update.of(self._report) if self._report.update else None

    def backward(self, batch: Batch | None = None, *, gradients: Gradients | None = None) -> None:
        """The first part of an update: all micro-batches, until all gradients are
        reduced. Until `update`, state and gradients can be read, and nothing else
        can be done. `gradients` as for an update in one part."""
        self._forget_data()
        if gradients is not None:
            self._with_gradients("zero_run_backward_gradients", batch, gradients)
        elif batch is None:
            raise ArgumentError("give a batch")
        else:
            self._with_batch("zero_run_backward", batch)

    def update(self) -> float:
        """The second part: clips and updates. Returns the loss, as `step(batch)`."""
        done = self._call("zero_run_update", ctypes.byref(self._report))
        self._skips.tell(done, stacklevel=3)
        return done.loss

    def evaluate(self, batch: Batch) -> float:
        """The mean loss over the batch, without dropout; changes nothing. The batch
        has any whole number of micro-batches for each rank."""
        loss = ctypes.c_double()
        self._with_batch("zero_run_evaluate", batch, ctypes.byref(loss))
        return loss.value

    def predict(self, batch: Batch, names: Sequence[str] | None = None) -> dict[str, numpy.ndarray]:
        """The model's outputs for the batch, without dropout: those of `names`, by
        default all of `outputs` but the loss. The batch has any number of samples, of
        which the last fills up its micro-batch. It may leave out inputs that no output of
        `names` depends on, such as labels, where the step was compiled in this process.

        An output whose dimension 0 is the micro-batch has a row for each sample, in
        the batch's order; any other has one value for each micro-batch, along a new
        dimension 0. 16-bit floats come as f32."""
        if names is None:
            names = [name for name in self.outputs if name != "loss"]
            if not names:
                raise ArgumentError(
                    "the model names no output but its loss: compile it with outputs=[...]"
                )
        for name in names:
            if name not in self.outputs:
                raise ArgumentError(
                    f"there is no output '{name}'; the model's outputs are "
                    f"{', '.join(self.outputs)}"
                )
        batch, samples = Completed(self, batch, names).whole()
        micros = self._micro_batches(batch)
        rooms = [room_for(self.outputs[name], micros) for name in names]
        results = (Result * len(names))(
            *(
                Result(name.encode(), room.ctypes.data, room.nbytes)
                for name, room in zip(names, rooms)
            )
        )
        self._with_batch("zero_run_evaluate_outputs", batch, results, len(names), None)
        return {
            name: values_of(self.outputs[name], room, self.micro_batch)[:samples]
            for name, room in zip(names, rooms)
        }

    def _micro_batches(self, batch: Batch) -> int:
        """How many the batch has; the library checks the rest."""
        parts = self.form.parts(batch)
        for name, tensor in self.inputs.items():
            given = [numpy.shape(part[name]) for part in parts if name in part]
            if tensor.shape[:1] == (self.micro_batch,) and all(given):
                return sum(shape[0] for shape in given) // self.micro_batch
        return 0

    def train(self, data: Data, steps: int, *, progress: bool = True, stream=None) -> list[float]:
        """`steps` updates; their losses. `data` is one of

        - a mapping from the inputs' names to arrays of any number of samples, drawn in
          the order in which the executable draws them: each epoch is a permutation by
          the run's seed, and an update continues where the last one ended;
        - a path, read as the executable's --data;
        - an iterable of batches, such as a DataLoader, which begins again when it ends.

        Checkpoints have what tells the first two from other data: where a run goes on from
        one with data that it did not have, a `RuntimeWarning` says so.

        A line of progress goes to `stream`, by default standard error. An interrupt
        (Ctrl-C) ends the training between two updates.
        """
        if not isinstance(steps, Integral) or steps < 0:
            raise ArgumentError(f"steps is {steps!r}, wanted a number of updates, 0 or more")
        losses: list[float] = []
        unit, units = self._units()
        line = Progress(steps, unit, units, progress, stream)
        refuse_short_batch(data, steps)
        batches = self._batches(data)
        try:
            for number in range(1, steps + 1):
                losses.append(self._update(next(batches)))
                line.update(number, self.last)
        finally:
            line.finish()
        return losses

    def _batches(self, data: Data) -> Iterator[Batch | None]:
        if isinstance(data, (str, os.PathLike)):
            self._call("zero_run_open_data", os.fsencode(data))
            self._described = True
            self._tell_notices()
            while True:
                yield None
        elif isinstance(data, Mapping):
            shuffled = Shuffled(self, data)
            shuffled.describe()
            self._tell_notices()
            yield from shuffled
        self._forget_data()
        while True:
            empty = True
            for batch in data:
                empty = False
                yield batch
            if empty:
                raise ArgumentError(f"the data has no batch, or ended at update {self.updates}")

    def set_learning_rate(self, rate: float | None | Mapping[str, float | None]) -> None:
        """The learning rate from the next update on, in the place of the schedule's: of all
        parameter groups, or of those that a mapping names. None: the schedule's again.
        Checkpoints do not have it."""
        if not isinstance(rate, Mapping):
            return self._call("zero_run_set_learning_rate", rate_of(rate))
        rates = rates_of(rate, self.idle_groups)
        self._call("zero_run_set_learning_rates", rates, len(rates))

    @property
    def updates(self) -> int:
        """Updates so far, skipped ones and those before a checkpoint included."""
        return self.position()[0]

    def position(self) -> tuple[int, int]:
        """(updates so far, the position of the next one's first sample)"""
        updates, samples = ctypes.c_int64(), ctypes.c_int64()
        self._call("zero_run_position", ctypes.byref(updates), ctypes.byref(samples))
        return updates.value, samples.value

    def describe_data(self, batch: Batch, samples: int) -> None:
        """Says, for checkpoints, which data of `samples` samples batches come from: the batch
        is three micro-batches that begin with sample 0, (samples - 1) // 2 and samples - 1."""
        self._with_batch("zero_run_describe_data", batch, samples)
        self._described = True

    def _forget_data(self) -> None:
        """What comes next is no part of the data that was described."""
        if self._described:
            self._call("zero_run_describe_data", None, 0, 0)
            self._described = False

    def order(self, samples: int, first: int, count: int) -> numpy.ndarray:
        """The numbers of the samples at `count` positions from `first` on in which
        data of `samples` samples is read."""
        numbers = numpy.empty(count, numpy.int64)
        pointer = numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))
        self._call("zero_run_order", samples, first, count, pointer)
        return numbers

    def _units(self) -> tuple[str, int]:
        for tensor in self.inputs.values():
            if len(tensor.shape) == 2 and tensor.dtype in ("int32", "int64"):
                return "tokens", self.update_samples * tensor.shape[1]
        return "samples", self.update_samples

    def _with_gradients(
        self, function: str, batch: Batch | None, gradients: Gradients, *results
    ) -> UpdateInfo:
        views = Views(
            gradients, self.update_micro_batches, lambda name: self._tensor_named(name).name
        )
        if batch is None:
            return self._call(function, None, 0, views.arguments, views.count, *results)
        return self._with_batch(function, batch, views.arguments, views.count, *results)

    def _with_batch(self, function: str, batch: Batch, *results) -> UpdateInfo:
        types = {name: tensor.dtype for name, tensor in self.inputs.items()}
        views = [
            (name, View(name, value, types.get(name)))
            for part in self.form.parts(batch)
            for name, value in part.items()
        ]
        arrays = (Array * len(views))(*(view.as_argument(name) for name, view in views))
        if not views:
            raise ArgumentError("the batch is empty")
        return self._call(function, arrays, len(views), *results)

    # State

    def parameter(self, name: str) -> numpy.ndarray:
        """All elements of a parameter as f32, whatever rank holds them: of its master
        weight, where there is one."""
        return self._read("zero_run_get_parameter", name)

    def set_parameter(self, name: str, value: Any) -> None:
        """Sets all elements of a parameter. What the optimizer keeps of it stays."""
        self._write("zero_run_set_parameter", name, value)

    def optimizer_state(self, name: str, state: str) -> numpy.ndarray:
        """What the optimizer keeps of a parameter, such as "exp_avg", as f32. The names
        are `parameters[name].states`."""
        return self._read("zero_run_get_state", name, state.encode())

    def set_optimizer_state(self, name: str, state: str, value: Any) -> None:
        """Sets it."""
        self._write("zero_run_set_state", name, value, state.encode())

    def gradient(self, name: str) -> numpy.ndarray:
        """The gradient of a parameter, between `backward` and `update`: the mean over
        the update's samples, without the loss scale and before clipping."""
        return self._read("zero_run_get_gradient", name)

    def set_gradient(self, name: str, value: Any) -> None:
        """Sets it, rounded to the type in which its sum is kept. `update` takes the norm
        and clips what was set."""
        self._write("zero_run_set_gradient", name, value)

    def local_pieces(self, rank: int, name: str, what: str = "parameter") -> list[tuple[int, int]]:
        """Which elements of a parameter rank `rank` answers for: (first, count) of each
        run, row-major. `what` is "parameter", "gradient", or what the optimizer keeps.
        Every element is one rank's."""
        tensor, count = self._tensor_named(name), ctypes.c_int64()
        arguments = (rank, tensor.name.encode(), what.encode())
        function = "zero_run_local_pieces"
        self._call(function, *arguments, None, 0, ctypes.byref(count))
        pieces = (Piece * count.value)()
        self._call(function, *arguments, pieces, count, ctypes.byref(count))
        return [(piece.element, piece.count) for piece in pieces]

    def local(self, rank: int, name: str, what: str = "parameter") -> numpy.ndarray:
        """These elements, flat and as f32, piece after piece."""
        pieces = self.local_pieces(rank, name, what)
        values = numpy.empty(sum(count for _, count in pieces), numpy.float32)
        self._local("zero_run_get_local", rank, name, what, values)
        return values

    def set_local(self, rank: int, name: str, value: Any, what: str = "parameter") -> None:
        """Sets these elements, wherever they are stored."""
        values = as_floats(name, value).reshape(-1)
        self._local("zero_run_set_local", rank, name, what, values)

    def _local(self, function: str, rank: int, name: str, what: str, values) -> None:
        self._call(
            function,
            rank,
            self._tensor_named(name).name.encode(),
            what.encode(),
            values.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
            values.size,
        )

    def state_dict(self) -> dict[str, numpy.ndarray]:
        """All parameters by name, as f32."""
        return {name: self.parameter(name) for name in self.parameters}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Sets parameters by name. With `strict`, all must be there and nothing else;
        further names of tied parameters may be, with the same values, and so may the
        module's buffers with those that the step has as constants. Checked before anything
        is set."""
        set_all(self, parameters_in(state, self.parameters, self.aliases, self.buffers, strict))

    def load_into(self, module) -> None:
        """Copies the parameters, and the buffers that training tracks, such as running
        statistics, into the PyTorch module that was compiled."""
        from zero.importer.weights import fill, of_step

        fill(module, "the run", of_step(self))

    def save_pretrained(self, module, folder: str | os.PathLike, type: str = "f32") -> None:
        """Copies the parameters into the module that was compiled, a model of
        transformers, and has it write a folder that `from_pretrained` loads. `type` is
        f32, bf16 or f16; in 16 bits the module stays so."""
        from zero.importer.pretrained import write_pretrained
        from zero.importer.weights import of_step

        write_pretrained(module, "the run", of_step(self), folder, type)

    def save_weights(self, path: str | os.PathLike) -> None:
        """Writes all parameters as safetensors, as the executable's --save-weights."""
        self._call("zero_run_save_weights", os.fsencode(path))

    def save_checkpoint(self, folder: str | os.PathLike, keep: int = 0) -> None:
        """Saves the whole state as a checkpoint in `folder`, as the executable's
        --checkpoint. Of older ones the newest `keep` stay, or all where it is 0."""
        keep = whole_number("keep", keep, 2**31)
        self._call("zero_run_save_checkpoint", os.fsencode(folder), keep)

    def load_checkpoint(self, folder: str | os.PathLike) -> None:
        """Goes on from the newest complete checkpoint of `folder`, of whatever stage and
        number of ranks. The run must have the seed of the one that saved it.

        `folder` may also be a checkpoint of DeepSpeed (ZeRO stages 0 to 3, universal) or
        of torch.distributed.checkpoint; what it does not say is a warning. Raises
        CheckpointError where it is damaged, of another model or seed, or where a newer one
        beside it is damaged; the run then goes on as it was."""
        if is_own(folder) or not is_foreign(folder):
            self._load_own(folder)
            return
        run = read_checkpoint(folder)
        run.fit(self.parameters, self.aliases)
        self.load_run(run)
        for remark in run.remarks:
            warnings.warn(f"{os.fspath(folder)}: {remark}", stacklevel=2)

    def load_run(self, run: SavedRun) -> None:
        """Goes on from what was read of another program's run, which has this one's parameters."""
        with tempfile.TemporaryDirectory(prefix="zero-") as scratch:
            write_checkpoint(run, scratch, self._seed)
            self._load_own(scratch)

    def _load_own(self, folder: str | os.PathLike) -> None:
        try:
            self._call("zero_run_load_checkpoint", os.fsencode(folder))
        except ArgumentError as error:
            raise CheckpointError(str(error)) from None
        self._tell_notices()

    def _write(self, function: str, name: str, value: Any, *further) -> None:
        tensor = self._tensor_named(name)
        values = as_floats(name, value)
        if values.shape != tensor.shape:
            raise ArgumentError(
                f"the parameter '{name}' has shape {list(tensor.shape)}; found {list(values.shape)}"
            )
        self._call(
            function,
            tensor.name.encode(),
            *further,
            values.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
            values.size,
        )

    def _read(self, function: str, name: str, *further) -> numpy.ndarray:
        tensor = self._tensor_named(name)
        values = numpy.empty(tensor.shape, numpy.float32)
        self._call(
            function,
            tensor.name.encode(),
            *further,
            values.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
            values.size,
        )
        return values

    def _tensor_named(self, name: str) -> Tensor:
        name = self.aliases.get(name, name)
        if name not in self.parameters:
            raise ArgumentError(
                f"there is no parameter '{name}'{nearest(name, [*self.parameters, *self.aliases])}"
            )
        return self.parameters[name]

    # Life

    def close(self) -> None:
        """Ends the run and frees its memory, once no other thread uses it."""
        if self._lock.is_elsewhere():
            return  # whose threads are not here to be ended
        with self._lock:
            run, self._run = self._run, ctypes.c_void_p()
            if run:
                self._library.destroy(run)

    def __reduce_ex__(self, protocol: int):
        # `copy`, `deepcopy` and `pickle` all come here. A copy would share the run, and
        # end it with its own end.
        raise TypeError(
            "a run cannot be copied or pickled: it has memory and threads in this process; "
            "save it with save_checkpoint, and load that into another run"
        )

    def __enter__(self) -> Step:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_run", None):
            self.close()

    def _call(self, function: str, *arguments) -> UpdateInfo:
        """Gives what the last update did, which another thread's next one may change."""
        with self._lock:
            if not self._run:
                raise StateError("this run is closed")
            self._library.call(function, self._run, *arguments)
            return UpdateInfo.from_buffer_copy(self._report)

    def __repr__(self) -> str:
        return f"<zero.Step {self.name}: stage {self.stage}, {self.ranks} ranks>"
