"""Makes buffers that fill a capacity to the last byte, so that few packings do.

Usage: make_buffers.py <seed> <count> <capacity> <slack>

A rectangle of time and memory is cut in two, again and again, along time or
along memory; each piece is a buffer. `slack` is the part of them that is left
out, which makes it easier.
"""

import random
import sys


def cut(rng, count, capacity):
    """Pieces (begin, end, bytes) of the rectangle."""
    unit = 512
    pieces = [(0, 1 << 20, capacity // unit)]
    while len(pieces) < count:
        # The larger a piece, the sooner it is cut.
        index = max(rng.sample(range(len(pieces)), min(3, len(pieces))),
                    key=lambda i: (pieces[i][1] - pieces[i][0]) * pieces[i][2])
        begin, end, size = pieces[index]
        part = rng.uniform(0.2, 0.8)
        if rng.random() < 0.5:
            middle = begin + int((end - begin) * part)
            halves = [(begin, middle, size), (middle, end, size)]
        else:
            below = int(size * part)
            halves = [(begin, end, below), (begin, end, size - below)]
        if all(b < e and s for b, e, s in halves):
            pieces[index:index + 1] = halves
    return [(begin, end, size * unit) for begin, end, size in pieces]


def main():
    seed, count, capacity = (int(value) for value in sys.argv[1:4])
    rng = random.Random(seed)
    pieces = [piece for piece in cut(rng, count, capacity)
              if rng.random() >= float(sys.argv[4])]
    rng.shuffle(pieces)
    print("id,lower,upper,size")
    for index, piece in enumerate(pieces):
        print(",".join(map(str, (index, *piece))))


main()
