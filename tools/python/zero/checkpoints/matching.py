"""Which parameter has which number in a state of PyTorch's optimizers, which has no names."""

from __future__ import annotations

from typing import Iterator, Optional, Sequence

from zero.checkpoints.errors import CheckpointError

Shape = Optional[tuple[int, ...]]
# How many parameters of each group have a name so far.
Taken = tuple[int, ...]


def match(
    candidates: Sequence[tuple[str, tuple[int, ...]]],
    groups: Sequence[Sequence[Shape]],
    path: str,
) -> list[list[str]]:
    """Names of each group's parameters. Groups have theirs in the order of the model,
    and shapes, of which None is any; what no group has is frozen. Refused where there is
    more than one way."""
    total = sum(len(group) for group in groups)

    def choices(index: int, taken: Taken) -> Iterator[tuple[int, Taken]]:
        """The ways to go on: the group that has the candidate, or -1 for none."""
        for number, group in enumerate(groups):
            place = taken[number]
            if place < len(group) and group[place] in (None, tuple(candidates[index][1])):
                yield number, taken[:number] + (place + 1,) + taken[number + 1 :]
        if len(candidates) - index > total - sum(taken):
            yield -1, taken

    reached = [{(0,) * len(groups)}]
    for index in range(len(candidates)):
        reached.append({after for taken in reached[-1] for _, after in choices(index, taken)})
    # How many ways lead from there to the end; more than one is as good as two.
    ways = [dict.fromkeys(level, 0) for level in reached]
    ways[-1] = {taken: int(sum(taken) == total) for taken in reached[-1]}
    for index in reversed(range(len(candidates))):
        for taken in reached[index]:
            found = sum(ways[index + 1][after] for _, after in choices(index, taken))
            ways[index][taken] = min(2, found)
    taken = (0,) * len(groups)
    if ways[0][taken] != 1:
        raise CheckpointError(
            f"{path}: its optimizer numbers {total} parameters without names, and "
            + ("no choice" if not ways[0][taken] else "more than one choice")
            + f" among the model's {len(candidates)} has their shapes; save it at ZeRO stage 1, "
            "which writes names, or take its weights only: -o FILE.safetensors"
        )
    names: list[list[str]] = [[] for _ in groups]
    for index, (name, _) in enumerate(candidates):
        number, taken = next(way for way in choices(index, taken) if ways[index + 1][way[1]])
        if number >= 0:
            names[number].append(name)
    return names
