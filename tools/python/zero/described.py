"""What a run says of its tensors and of its updates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tensor:
    """An input or an output, of one micro-batch of one rank, or a parameter. `states` are what the
    optimizer keeps of a trainable parameter, such as "exp_avg"."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool = False
    states: tuple[str, ...] = ()


@dataclass(frozen=True)
class Update:
    """What an update did. A skipped one found a gradient that is inf or NaN, and
    changed nothing but the loss scale."""

    number: int
    loss: float
    gradient_norm: float
    learning_rate: float
    loss_scale: float
    next_loss_scale: float
    skipped: bool
    seconds: float

    @classmethod
    def of(cls, found) -> Update:
        """From the structure of the C interface."""
        return cls(
            found.update,
            found.loss,
            found.gradient_norm,
            found.learning_rate,
            found.loss_scale,
            found.next_loss_scale,
            bool(found.skipped),
            found.seconds,
        )
