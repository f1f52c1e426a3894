#!/usr/bin/env python3
"""The order of batches, written from docs/batch_order.md alone, and held against the page's test vector.

    batch_order.py docs/batch_order.md            compares; exits 1 where a number differs
    batch_order.py docs/batch_order.md --write    writes the vector into the page
"""
import json
import math
import re
import sys

MASK = (1 << 64) - 1
SPLIT, SHUFFLE, AUGMENT = 1, 2, 3
THREE_PARTS = 0.2  # data.test_fraction


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def key_of(seed, stream, part):
    return mix(mix(mix(seed) ^ stream) ^ part)


def bits(key, counter):
    return mix(key ^ mix(counter))


def below(key, counter, n):
    return ((bits(key, counter) >> 32) * n) >> 32


class Permutation:
    def __init__(self, n, key):
        self.n = n
        self.half = max(4, ((n - 1).bit_length() + 1) // 2)
        self.keys = [bits(key, r) for r in range(6)]

    def once(self, value):
        mask = (1 << self.half) - 1
        left, right = value >> self.half, value & mask
        for key in self.keys:
            left, right = right, left ^ (mix(right ^ key) & mask)
        return left << self.half | right

    def element(self, i):
        value = self.once(i)
        while value >= self.n:
            value = self.once(value)
        return value


def thinned(samples, wanted):
    count = len(samples)
    return [samples[i * count // wanted] for i in range(wanted)] if 0 < wanted < count else samples


def part_of(n, fraction, most):
    return min(max(math.floor(n * fraction + 0.5), 1), most) if fraction else 0


def split(n, fraction, test_fraction, split_seed, max_samples):
    m = part_of(n, fraction, n - 2 if test_fraction else n - 1)
    t = part_of(n, test_fraction, n - m - 1)
    p = Permutation(n, key_of(split_seed, SPLIT, 0))
    validation = sorted(p.element(i) for i in range(m))
    test = sorted(p.element(i) for i in range(m, m + t))
    training = sorted(set(range(n)) - set(validation) - set(test))
    return [thinned(part, max_samples) for part in (training, validation, test)]


def batches(training, seed, epoch, size):
    p = Permutation(len(training), key_of(seed, SHUFFLE, epoch))
    order = [training[p.element(i)] for i in range(len(training))]
    return [order[i : i + size] for i in range(0, len(order), size)]


def placements(seed, epoch, padding, count):
    key = key_of(seed, AUGMENT, epoch)
    choices = 2 * padding + 1
    return [
        [below(key, 3 * j, choices) - padding, below(key, 3 * j + 1, choices) - padding, below(key, 3 * j + 2, 2)]
        for j in range(count)
    ]


def vector_of(settings):
    """The vector that belongs to these settings, in the sample numbers of the file."""
    s = settings
    parts = [split(s["samples"], s["validation_fraction"], f, s["split_seed"], s["max_samples"]) for f in (0, THREE_PARTS)]
    training, validation, _ = parts[0]
    large = s["large"]
    p = Permutation(large["samples"], key_of(s["seed"], SHUFFLE, large["epoch"]))
    return {
        "settings": s,
        "mix": [f"{mix(x):016x}" for x in (0, 1)],
        "key": f"{key_of(s['seed'], SHUFFLE, 5):016x}",
        "training": training,
        "validation": validation,
        "three_parts": dict(zip(("training", "validation", "test"), parts[1])),
        "epochs": {str(e): batches(training, s["seed"], e, s["batch_size"]) for e in s["epochs"]},
        "large": [p.element(i) for i in large["places"]],
        "augmentation": {str(e): placements(s["seed"], e, s["crop_padding"], 5) for e in s["epochs"]},
    }


SETTINGS = {
    "samples": 23,
    "split_seed": 7,
    "validation_fraction": 0.25,
    "max_samples": 15,
    "seed": 1337,
    "batch_size": 4,
    "crop_padding": 2,
    "epochs": [0, 1],
    "large": {"samples": 1797, "epoch": 5, "places": [0, 1, 898, 1796]},
}
BLOCK = re.compile(r"(?<=<!-- test vector -->\n\n```json\n).*?(?=\n```)", re.DOTALL)


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        page = file.read()
    if sys.argv[2:] == ["--write"]:
        lines = [f'  "{name}": {json.dumps(value)}' for name, value in vector_of(SETTINGS).items()]
        with open(path, "w", encoding="utf-8") as file:
            file.write(BLOCK.sub("{\n" + ",\n".join(lines) + "\n}", page))
        return 0
    given = json.loads(BLOCK.search(page).group())
    computed = vector_of(given["settings"])
    wrong = [name for name in computed if computed[name] != given.get(name)]
    for name in wrong:
        print(f"{name}: the page says {given.get(name)}, computed is {computed[name]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
