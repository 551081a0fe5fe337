"""Where the time of a step goes, from what an executable writes with --trace.

Kernels are put into classes by what they are. The limit of a step is the time that
its matrix products would take at the rate of the fastest of them, and nothing else.
"""

import collections
import statistics

CLASSES = [
    ("matrix products", ("nn.linear", "nn.matmul", "nn.grouped_matmul", "nn.conv")),
    ("attention", ("nn.attention",)),
    ("norms and softmax", ("nn.layer_norm", "nn.rms_norm", "nn.batch_norm", "nn.softmax")),
    ("loss and embedding", ("nn.cross_entropy", "nn.embedding")),
    ("generated elementwise kernels", ("launch",)),
    ("optimizer and its statistics", ("zero.",)),
]


def class_of(event):
    if event["cat"] != "kernel":
        return "communication and waits"
    for name, prefixes in CLASSES:
        if event["name"].startswith(prefixes):
            return name
    return "other kernels"


def shapes_rate(products):
    """The best rate, in operations per second, of the median run of one product."""
    runs = collections.defaultdict(list)
    for event in products:
        runs[event["args"].get("location"), event["args"].get("phase"),
             event["args"]["flops"]].append(event["args"]["flops"] / event["dur"] * 1e6)
    return max(statistics.median(rates) for rates in runs.values())


def summarize(events, rank=0):
    """Seconds of a traced update by class, and what its products allow."""
    events = [event for event in events if event["ph"] == "X" and event["pid"] == rank]
    updates = [event for event in events if event["cat"] == "region"
               and event["name"].split()[0] == "update"]
    count = len(updates)
    total = sum(event["dur"] for event in updates) / count / 1e6
    # Tracks other than the first run beside the kernels.
    busy = [event for event in events if event["tid"] == 0 and event["cat"] != "region"]
    seconds = collections.Counter()
    for event in busy:
        seconds[class_of(event)] += event["dur"] / count / 1e6
    products = [event for event in busy if class_of(event) == "matrix products"]
    flops = sum(event["args"]["flops"] for event in products) / count
    rate = shapes_rate(products)
    seconds["everything else"] = max(total - sum(seconds.values()), 0.0)
    return {"step_s": total, "classes": dict(seconds.most_common()), "product_flops": flops,
            "best_flops_per_s": rate, "limit_s": flops / rate}


def table(record):
    """Lines of a Markdown table for several summaries."""
    classes = []
    for summary in record:
        classes += [name for name in summary["classes"] if name not in classes]
    lines = ["| | " + " | ".join(summary["name"] for summary in record) + " |",
             "| --- |" + " --- |" * len(record)]
    for name in classes:
        shares = (summary["classes"].get(name, 0) / summary["step_s"] for summary in record)
        lines.append(f"| {name} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")
    lines.append("| step, ms | " + " | ".join(
        f"{summary['step_s'] * 1e3:.1f}" for summary in record) + " |")
    lines.append("| products, GFLOP/s, all and fastest | " + " | ".join(
        f"{summary['product_flops'] / summary['classes']['matrix products'] / 1e9:.0f}, "
        f"{summary['best_flops_per_s'] / 1e9:.0f}" for summary in record) + " |")
    lines.append("| step beside its products as they are | " + " | ".join(
        f"{summary['step_s'] / summary['classes']['matrix products']:.2f}"
        for summary in record) + " |")
    lines.append("| step beside its products at the fastest rate | " + " | ".join(
        f"{summary['step_s'] / summary['limit_s']:.2f}" for summary in record) + " |")
    return lines
