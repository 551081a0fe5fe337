"""Steps with a setting beside steps without it, and with other data."""

import os
import tempfile

from models import Run, Steps, load, text, zipf

SAME = 1.02    # of the other step's seconds, at most: what makes no difference, or helps
SKEWED = 1.05  # the same token again and again is more work for gradients of embeddings
LIMIT = 120


def compare(mine, other, most, what):
    """`mine` and `other` are seconds."""
    ratio = mine / other
    return ("passed" if ratio <= most else "failed",
            f"{mine * 1e3:.3f} ms, {what} {other * 1e3:.3f} ms: {ratio:.3f}, wanted at most "
            f"{most}", {"step_s": mine, "other_s": other, "ratio": ratio})


def data_body(model, ids, steps):
    def body(limit):
        uniform = steps.of(model, limit)
        return compare(Run(model, model["steps"], (), limit, ids).seconds, uniform, SKEWED,
                       "uniform ids")
    return body


def variant_body(variant, model, steps):
    """The model compiled in another way: as it is, it takes at most `most` of the time of the
    variant; or the other way round, where the variant is what has to be as good."""
    def body(limit):
        own = steps.of(model, limit)
        other = Run({**model, **variant}, model["steps"], (), limit).seconds
        pair = (other, own) if variant["judged"] else (own, other)
        return compare(*pair, variant["most"],
                       model["name"] if variant["judged"] else variant["what"])
    return body


def tuned_body(model, steps):
    def body(limit):
        own = steps.of(model, limit)
        with tempfile.TemporaryDirectory() as folder:
            flags = ["--tune-products", os.path.join(folder, "products.json")]
            return compare(Run(model, model["steps"], flags, limit).seconds, own, SAME,
                           "without --tune-products")
    return body


def add_ratios(report):
    steps = Steps()
    by_name = {model["name"]: model for model in load("models.json")}
    for model in by_name.values():
        if model["varied"]:
            name = model["name"]
            report.check(f"{name}-zipf", data_body(model, zipf, steps), LIMIT)
            report.check(f"{name}-text", data_body(model, text, steps), LIMIT)
            report.check(f"{name}-tune-products", tuned_body(model, steps), LIMIT)
    for variant in load("variants.json"):
        report.check(variant["name"], variant_body(variant, by_name[variant["of"]], steps), LIMIT)
