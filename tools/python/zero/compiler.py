"""`compile`: from a model to a step that trains, by zero-compile."""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
from typing import Any, Iterator, Mapping, Sequence

from zero.errors import ArgumentError, Error
from zero.step import Step


class CompileError(Error):
    """zero-compile refused the model or the configuration; it says why."""


def find_tool(name: str) -> str:
    """A tool of zero: in the folder ZERO_BIN of the environment, where it was installed
    with this package, or on the path."""
    folder = os.environ.get("ZERO_BIN")
    folders = [folder] if folder else _installed_folders()
    path = shutil.which(name, path=os.pathsep.join(folders))
    if path is None and not folder:
        path = shutil.which(name)
    if path is None:
        where = f"in ZERO_BIN, which is '{folder}'" if folder else "on the path"
        raise Error(
            f"{name} is not {where}: install zero, or set ZERO_BIN to the folder bin of a build"
        )
    return path


def _installed_folders() -> list[str]:
    """The folders of tools in a wheel, inside the package, and of `cmake --install`, whose
    packages are in lib/python3/dist-packages."""
    package = pathlib.Path(__file__).resolve().parent
    prefixes = [package / "installed", *package.parents[3:4]]
    return [str(prefix / "bin") for prefix in prefixes]


def compile(
    model: Any,
    batch: Mapping[str, Any] | None = None,
    *,
    config: str | os.PathLike | Mapping | None = None,
    optimizer: Any = None,
    ranks: int | None = None,
    stage: int | None = None,
    mesh: str | None = None,
    deterministic: bool = False,
    given_gradients: str | None = None,
    outputs: str | Sequence[str] = (),
    options: Sequence[str] = (),
    output: str | os.PathLike | None = None,
    weights: str | os.PathLike | None = None,
    check: bool | None = None,
    **run,
) -> Step:
    """Compiles a model and starts a run of it in this process.

    `model` is the path of a model for zero-compile, an imported `zero.Model`, or a
    PyTorch module, which is imported with the example micro-batch `batch`. A module's
    present weights, or an imported model's, are what the run starts from, unless
    `weights` names a safetensors file.

    `config` is a DeepSpeed configuration, its path or a dictionary; `optimizer` is one of
    PyTorch over the module's parameters, whose kind, settings, parameter groups and state are
    taken in the place of the configuration's, and beside which gradients are clipped only if
    the configuration says so; `ranks`, `stage`, `mesh` and `deterministic` are zero-compile's
    flags, and `options` are further ones.
    `given_gradients` has updates take gradients of micro-batches that the caller gives,
    `step(batch, gradients=...)`: "add" adds them to those of the loss, and with "instead"
    updates compute none, and have no batch.
    `outputs` names tensors of a module's output, such as "logits", that `Step.predict`
    returns. The shared library is kept where `output` says, for `zero.load`. All else is as in
    `zero.load`: seed, threads, loss_scale, overcommit, timeout, nvme_path.

    A module is compared with the imported model first, in two updates, and refused where
    they differ: always where `check` is True, never where it is False, and by default where
    the model is small. `Step.check` says what was compared, or why nothing was.

    The compiler's remarks go to the logger "zero", as warnings, and are kept in `Step.remarks`.

    Raises CompileError with the compiler's message.
    """
    _check_options(run)
    outputs = (outputs,) if isinstance(outputs, str) else outputs
    flags = _flags({"ranks": ranks, "stage": stage, "mesh": mesh}, deterministic, given_gradients)
    with _files_told(), tempfile.TemporaryDirectory(prefix="zero-") as scratch:
        folder = pathlib.Path(scratch)
        module = model
        model = imported = _imported(model, batch, outputs)
        described = None
        if optimizer is not None:
            given = _given_by(config, options)
            described = _described(optimizer, model, given, weights)
            model = model.in_groups(described.groups)
            flags += described.flags()
            if "gradient_clipping" not in given:
                flags.append("--set=gradient_clipping=0")
        source, weights = _saved(model, weights, folder)
        compared = _compare(module, batch, imported, outputs, check)
        library = os.fspath(output or folder / "step.so")
        command = [find_tool("zero-compile"), source, "--emit=shared", "-o", library]
        if config is not None:
            command += ["--config", _config_path(config, folder)]
        done = _run([*command, *flags, *options], library)
        remarks, said = done.stderr.replace(f"{scratch}{os.sep}", "").strip(), ""
        if done.returncode != 0:
            remarks, said = _parted(remarks)
        own = [model.remark] if getattr(model, "remark", "") else []
        if described and described.run:
            own += [f"the optimizer: {remark}" for remark in described.run.remarks]
        remarks = "\n".join([*(f"remark: {remark}" for remark in own), remarks]).strip()
        if remarks:
            logging.getLogger("zero").warning("%s", remarks)
        if done.returncode != 0:
            raise CompileError(said or f"zero-compile ended with {done.returncode}")
        # What is loaded stays, whatever becomes of the files.
        step = Step(library, weights=weights, **run)
    if described and described.run:
        _go_on(step, described)
    if described:
        trained = {described.groups.get(n) for n, p in step.parameters.items() if p.trainable}
        step.idle_groups = set(described.names()) - trained
    step.aliases = dict(getattr(model, "aliases", {}))
    step.buffers = dict(getattr(model, "buffers", {}))
    step.uses = dict(getattr(model, "uses", {}))
    step.form = getattr(model, "form", step.form)
    step.check = compared
    step.remarks = remarks
    return step


def _flags(values: Mapping[str, Any], deterministic: bool, given: str | None) -> list[str]:
    flags = [f"--{flag}={value}" for flag, value in values.items() if value is not None]
    if deterministic:
        flags.append("--deterministic")
    if given is not None:
        flags.append(f"--set=zero.given_gradients={given}")
    return flags


def _check_options(given: Mapping[str, Any]) -> None:
    """Throws where something is given that neither `compile` nor a run takes."""
    from zero.names import nearest

    known = {name: 0 for each in (compile, Step) for name in inspect.signature(each).parameters}
    known = [name for name in known if name not in ("path", "run")]
    for name in given:
        if name not in known:
            raise ArgumentError(
                f"compile has no option '{name}'{nearest(name, known)}: give one of "
                f"{', '.join(known)}; what the optimizer does is said by the "
                "configuration, or by `optimizer`"
            )


@contextlib.contextmanager
def _files_told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        from zero.files import describe_error

        name = f"'{os.fspath(error.filename)}': " if error.filename else ""
        raise Error(f"the model cannot be compiled: {name}{describe_error(error)}") from error


def _run(command: list[str], library: str) -> subprocess.CompletedProcess:
    """Runs zero-compile, which is to write the library."""
    before = _identity(library)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0 and _identity(library) in (None, before):
        # The system then keeps no child's status, and a child that failed has none.
        ignored = signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN
        advice = (
            ": SIGCHLD is ignored, so that nobody learns how it ended; call "
            "signal.signal(signal.SIGCHLD, signal.SIG_DFL) before"
        )
        raise CompileError(
            f"zero-compile wrote no library '{library}'{advice if ignored else ''}"
            f"{os.linesep if done.stderr else ''}{done.stderr.strip()}"
        )
    return done


def _identity(path: str) -> tuple[int, int] | None:
    """Another one for a file that was written since."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _parted(text: str) -> tuple[str, str]:
    """(the remarks, all from the first error on) of what the compiler said before it failed"""
    first = re.search(r"^(.*:)? *error: ", text, re.MULTILINE)
    return (text[: first.start()].strip(), text[first.start() :]) if first else ("", text)


def _compare(module, batch, model, outputs, check: bool | None) -> str:
    """Compares a module with the model that was imported from it; what was compared."""
    if model is module:
        if check:
            raise Error(
                "check=True compares a module of PyTorch with its import, and this model was "
                "imported before: leave `check` out, and call zero.check(module, batch) instead"
            )
        return "not compared with PyTorch: it was imported before"
    if check is False:
        return "not compared with PyTorch: check=False"
    from zero.selfcheck import check_if_small, check_model

    return (check_model if check else check_if_small)(module, dict(batch), model, outputs)


def _imported(model, batch, outputs):
    """A module as an imported model; a model, or the path of one, as it is."""
    is_imported = isinstance(model, (str, os.PathLike)) or hasattr(model, "text")
    if outputs and is_imported:
        raise Error(
            "a model that is a file or was imported names its outputs itself: leave out `outputs`"
        )
    if isinstance(model, (str, os.PathLike)) and batch is not None:
        raise Error("a model that is a file has its own shapes: leave out the batch")
    if is_imported:
        return model
    if batch is None:
        raise Error("a module is imported with an example micro-batch: give the batch")
    if not isinstance(batch, Mapping):
        raise Error(
            "the batch is a mapping from the names of forward's arguments to tensors, and a "
            f"{type(batch).__name__} was given: give {{'x': x, 'y': y}}"
        )
    from zero.importer import export

    return export(model, dict(batch), outputs=outputs)


def _described(optimizer, model, given: set[str], weights):
    """What an optimizer of PyTorch does, where nothing else says that."""
    if isinstance(model, (str, os.PathLike)):
        raise Error(
            "the optimizer is of a module's parameters, and the model is a file: say it in the "
            "configuration"
        )
    for key in ("optimizer", "zero.parameter_groups"):
        if key in given:
            raise Error(
                f"the configuration has '{key}', and an optimizer was given as well: leave one "
                "of them out"
            )
    from zero.optimizers import describe

    described = describe(optimizer, model)
    if described.run and weights is not None:
        raise Error(
            "the optimizer has made updates of the module's weights, and other weights were given: "
            "leave one of them out"
        )
    return described


def _go_on(step: Step, described) -> None:
    """Gives the step the state of the optimizer."""
    try:
        step.load_run(described.run_for(step.parameters))
    except BaseException:
        step.close()
        raise


def _given_by(config, options: Sequence[str]) -> set[str]:
    """The keys that a configuration or options give of those that an optimizer of PyTorch stands
    for, or decides on."""
    keys = ("optimizer", "zero.parameter_groups", "gradient_clipping")
    found = set()
    for key in keys:
        words = re.escape(key) + ("|clip" if key == "gradient_clipping" else "")
        if any(re.search(rf"(^|[=\s'\"])({words})\b", option) for option in options):
            found.add(key)
    if config is not None and not isinstance(config, Mapping):
        text = pathlib.Path(config).read_text(encoding="utf-8")
        try:
            config = json.loads(text)
        except ValueError as error:
            raise Error(
                f"the configuration '{os.fspath(config)}' is no plain JSON ({error}), which it has "
                "to be beside an optimizer: take comments and the like out"
            ) from None
    if isinstance(config, Mapping):
        zero = config.get("zero")
        found.update(key for key in keys if key in config)
        if isinstance(zero, Mapping) and "parameter_groups" in zero:
            found.add("zero.parameter_groups")
    return found


def _saved(model, weights, folder: pathlib.Path):
    """(the path of the model, the path of its weights)"""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), weights
    given = weights is not None
    weights = weights if given else folder / "weights.safetensors"
    model.save(folder / "model.mlir", None if given else weights)
    return str(folder / "model.mlir"), weights


def _plain(value: Any) -> Any:
    """A number of NumPy or PyTorch as one of Python."""
    from zero.arrays import number_in

    number = number_in(value)
    if number is value:
        raise Error(f"the configuration has a {type(value).__name__}, which JSON has no form of")
    return number


def _config_path(config, folder: pathlib.Path) -> str:
    if isinstance(config, Mapping):
        path = folder / "ds_config.json"
        path.write_text(json.dumps(dict(config), indent=1, default=_plain))
        return str(path)
    return os.fspath(config)
