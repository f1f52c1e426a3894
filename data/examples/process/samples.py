"""Samples from a program, for data.kind: process (docs/data.md). Copy it and change Samples; the rest is the protocol.

    data:
      kind: process
      command: [python3, data/examples/process/samples.py]
"""
import json
import random
import struct
import sys


class Samples:
    """Two classes around two centres. batch() is a function of its arguments alone, so a resumed run sees the same."""

    def __init__(self, part, seed):
        self.part, self.seed = part, seed
        self.samples = 256 if part == "train" else 64

    def layout(self):
        return {"version": 1, "samples": self.samples,
                "inputs": {"type": "float32", "shape": [2]},
                "targets": {"type": "int64", "shape": []},
                "classes": ["left", "right"]}

    def batch(self, epoch, first, size):
        # Validation should be the same in each epoch.
        source = random.Random(f"{self.seed} {self.part} {epoch if self.part == 'train' else 0} {first}")
        classes = [source.randrange(2) for _ in range(size)]
        inputs = [source.gauss(2 * c - 1, 0.5) for c in classes for _ in range(2)]
        return struct.pack(f"<{2 * size}f", *inputs) + struct.pack(f"<{size}q", *classes)


def send(header, content=b""):
    text = json.dumps(header).encode()
    sys.stdout.buffer.write(b"ESPR" + struct.pack("<IQ", len(text), len(content)) + text + content)
    sys.stdout.buffer.flush()


def main():
    start = json.loads(sys.stdin.readline())
    samples = Samples(start["part"], start["seed"])
    send(samples.layout())
    for line in sys.stdin:
        asked = json.loads(line)
        content = samples.batch(asked["epoch"], asked["first"], asked["size"])
        send({"epoch": asked["epoch"], "index": asked["index"], "size": asked["size"]}, content)


if __name__ == "__main__":
    main()
