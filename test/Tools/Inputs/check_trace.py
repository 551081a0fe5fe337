"""Checks traces: check_trace.py FILE RANKS FIRST LAST MICROS.

Every rank has the updates from FIRST to LAST, each in MICROS micro-batches and
then apply; slices of a thread do not overlap unless one is inside the other; what
runs on compute lies in its update; a command has bytes and a place. Where
micro-batches gather parameters, the trace says when that was asked for and
waited for, in the forward and in the backward.
"""

import json
import sys

path, ranks, first, last, micros = sys.argv[1], *map(int, sys.argv[2:6])
EPSILON = 0.002  # microseconds: times are rounded to a nanosecond
events = json.load(open(path))["traceEvents"]
slices = [event for event in events if event["ph"] == "X"]
assert {event["pid"] for event in events} == set(range(ranks)), "ranks"
names = {(event["pid"], event["tid"]): event["args"]["name"]
         for event in events if event["name"] == "thread_name"}

for rank in range(ranks):
    mine = [event for event in slices if event["pid"] == rank]
    updates = [event for event in mine if event["name"].startswith("update ")]
    assert [event["name"] for event in updates] == [
        f"update {n}" for n in range(first, last + 1)], updates
    regions = sorted((event for event in mine if event["cat"] == "region"
                      and event not in updates), key=lambda event: event["ts"])
    wanted = [f"micro-batch {n}" for n in range(micros)] + ["apply"]
    assert [event["name"] for event in regions] == wanted * len(updates), regions
    for thread in {event["tid"] for event in mine}:
        assert (rank, thread) in names
        ends = []
        rows = sorted((event for event in mine if event["tid"] == thread),
                      key=lambda event: (event["ts"], -event["dur"]))
        for event in rows:
            while ends and ends[-1] <= event["ts"] + EPSILON:
                ends.pop()
            end = event["ts"] + event["dur"]
            assert not ends or end <= ends[-1] + EPSILON, (rank, event)
            ends.append(end)
    for event in mine:
        if names[rank, event["tid"]] != "compute":
            continue
        update, = (u for u in updates if u["args"]["update"] == event["args"]["update"])
        assert event["ts"] >= update["ts"] - EPSILON
        assert event["ts"] + event["dur"] <= update["ts"] + update["dur"] + EPSILON
    kernels = [event for event in mine if event["cat"] == "kernel"]
    assert any(event["args"]["flops"] > 0 for event in kernels)
    assert all(event["args"]["bytes"] >= 0 for event in kernels)
    assert any(".mlir:" in event["args"].get("location", "") for event in kernels)
    if ranks > 1:
        assert any(event["cat"] == "wait" for event in mine)
        assert any(event["cat"] in ("all-gather", "gather")
                   and event["args"]["bytes"] > 0 for event in mine)
    gathers = [event for event in mine if event["cat"] == "gather"]
    submits = [event for event in mine if event["cat"].endswith("fetch submit")]
    assert len(submits) == len(gathers)
    if not gathers:
        continue
    assert all(event["args"]["elements"] > 0 for event in gathers + submits)
    for some in gathers, submits:
        assert {event["args"]["phase"] for event in some} == {"forward", "backward"}
    for event in kernels:
        ahead = [seed for seed in kernels if seed["name"] == "zero.loss_seed"
                 and all(seed["args"][key] == event["args"][key]
                         for key in ("update", "micro"))]
        if "phase" in event["args"]:
            assert (event["args"]["phase"] == "backward") == (
                event["ts"] >= ahead[0]["ts"]), event
print(f"{len(slices)} slices of {ranks} ranks")
