"""The largest micro-batch that fits, from few peaks: they grow linearly with it."""


class NoLargest(Exception):
    """Why there is none; the text says it."""


def largest_within(limit, peak, few=8, many=40, attempts=4):
    """The largest micro-batch whose `peak(batch)` is within `limit`, in the unit of
    `limit`, and that peak. Peaks of two batches give the first guess, each run of a
    guess a better one. A guess is taken where it fits and leaves at most what four
    samples, or 2 % of the limit, take. Raises NoLargest where there is none."""
    first, second = peak(few), peak(many)
    for _ in range(attempts):
        slope = (second - first) / (many - few)
        if slope <= 0:
            raise NoLargest("peaks do not grow with the micro-batch")
        batch = int(few + (limit - first) / slope)
        if batch < 1:
            raise NoLargest("a micro-batch of 1 takes more than the limit")
        if batch == few:
            return few, first
        found = peak(batch)
        if 0 <= limit - found <= max(4 * slope, 0.02 * limit):
            return batch, found
        many, second = batch, found
    raise NoLargest("peaks do not grow linearly")
