"""porting.py FOLDER: each folder in it is an exported network with an example. Prints, as JSON, the largest difference
between what the network computes and the example's outputs, by the folder's name. Weights are read in both of the ways
that the file knows; they must have the network's names, all of them and no others."""
import importlib.util
import json
import math
import pathlib
import sys

import torch


def module_at(path):
    spec = importlib.util.spec_from_file_location("model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_without_package(module, path):
    sys.modules["safetensors.torch"] = None  # importing it is an ImportError
    try:
        return module.read_safetensors(path)
    finally:
        del sys.modules["safetensors.torch"]


def check_readers(module, path):
    ours, theirs = read_without_package(module, path), module.read_safetensors(path)
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        assert tensor.dtype == ours[name].dtype and torch.equal(tensor, ours[name]), name


def check_rows(module):
    """Images may be given as rows of numbers, as a CSV file has them; samples of another shape are refused."""
    if not hasattr(module, "UNIT"):
        return
    samples = torch.rand(3, *module.INPUT_SHAPE)
    assert torch.equal(module.preprocess(samples.flatten(1)), module.preprocess(samples))
    size = math.prod(module.INPUT_SHAPE)
    for shape in [(3, 1 + size), (2, 3, size)]:
        try:
            module.preprocess(torch.rand(shape))
        except ValueError:
            continue
        raise AssertionError(f"samples of shape {shape} were prepared")


def difference_of(folder):
    module = module_at(folder / "model.py")
    check_readers(module, folder / "weights.safetensors")
    example = module.read_safetensors(folder / "example.safetensors")
    check_rows(module)
    with torch.no_grad():
        outputs = module.load()(example["inputs"])
    assert outputs.shape == example["outputs"].shape, outputs.shape
    return (outputs - example["outputs"]).abs().max().item()


torch.set_num_threads(1)
folders = sorted(pathlib.Path(sys.argv[1]).iterdir())
print(json.dumps({folder.name: difference_of(folder) for folder in folders}))
