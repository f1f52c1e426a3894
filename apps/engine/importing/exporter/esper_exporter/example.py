"""What a sample is: one tensor, as data sets have it, from which the model's inputs are cut."""

import math

import torch

from .refusal import Refusal


class Part:
    """One input of the model: its sizes without the batch, and its type."""

    def __init__(self, text):
        sizes, _, dtype = text.strip().partition(":")
        self.dtype = dtype or "float32"
        if self.dtype not in ("float32", "int64"):
            raise Refusal(f"--example {text}: inputs are float32 or int64, not {self.dtype}")
        numbers = sizes.split("x")
        if not all(number.isdigit() and 0 < int(number) <= 1 << 20 for number in numbers) or len(numbers) > 4:
            raise Refusal(f"--example {text} is not the shape of one sample, like 3x32x32, 16 or 64:int64; several inputs "
                          "are separated by commas")
        self.sizes = [int(number) for number in numbers]
        self.count = math.prod(self.sizes)


class Example:
    """sizes, dtype: of a sample in a data set. A sequence of vectors [T, F] is an image [1, T, F] there, as the readers
    have it; several inputs, and one of four dimensions, are a row of numbers: the inputs one behind the other."""

    def __init__(self, text):
        self.parts = [Part(part) for part in text.split(",")]
        first = self.parts[0]
        self.is_row = len(self.parts) > 1 or len(first.sizes) == 4 or (first.dtype == "int64" and len(first.sizes) > 1)
        self.dtype = "int64" if all(part.dtype == "int64" for part in self.parts) else "float32"
        if self.is_row:
            self.sizes = [sum(part.count for part in self.parts)]
        else:
            self.sizes = [1, *first.sizes] if len(first.sizes) == 2 else first.sizes

    def batch(self, size):
        """Of that many samples; whole numbers are 0 or 1, which any table of embeddings has."""
        generator = torch.Generator().manual_seed(size)
        parts = [torch.randint(0, 2, (size, part.count), generator=generator) if part.dtype == "int64" else
                 torch.randn((size, part.count), generator=generator) for part in self.parts]
        return torch.cat(parts, 1).reshape(size, *self.sizes)

    def inputs_of(self, samples):
        """What the model takes."""
        if self.sizes == self.parts[0].sizes:
            return [samples]
        if not self.is_row:
            return [samples.squeeze(1)]
        inputs, start = [], 0
        for part in self.parts:
            columns = samples[:, start:start + part.count].unflatten(1, part.sizes)
            inputs.append(columns.to(getattr(torch, part.dtype)))
            start += part.count
        return inputs


def chosen(result, output):
    """Of several results the one that is named, by its key, its field or its place."""
    if isinstance(result, torch.Tensor) or not output:
        return result
    try:
        if output.isdigit():
            return (list(result.values()) if isinstance(result, dict) else result)[int(output)]
        return result[output] if isinstance(result, dict) else getattr(result, output)
    except (IndexError, KeyError, AttributeError, TypeError) as error:
        names = list(result) if isinstance(result, dict) else getattr(result, "_fields", None)
        has = f"{', '.join(names)}" if names else f"{len(result)} values" if hasattr(result, "__len__") else "no such"
        raise Refusal(f"--output {output}: the model returns {has}") from error


def adapt(model, example, output):
    """The model takes a data set's samples and returns one tensor. Its modules keep their names."""
    inner = model.forward

    def forward(samples):
        return chosen(inner(*example.inputs_of(samples)), output)

    model.forward = forward
