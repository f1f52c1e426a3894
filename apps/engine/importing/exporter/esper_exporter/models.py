"""Finds the model, its example and its tensors."""

import ast
import importlib
import importlib.util
import os
import re
import sys
import traceback

import torch

from .refusal import Refusal


def arguments_of(options):
    """Of "depth=18": a dictionary of Python literals; a word that is none stays text."""
    arguments = {}
    for text in options.argument:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise Refusal(f"--arg {text} is not NAME=VALUE")
        try:
            arguments[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            arguments[name] = value
    return arguments


def module_at(path):
    if not os.path.isfile(path):
        raise Refusal(f"there is no file {path}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("imported_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["imported_model"] = module
    spec.loader.exec_module(module)
    return module


def from_package(package, name, arguments):
    try:
        library = importlib.import_module("torchvision.models" if package == "torchvision" else package)
    except ImportError as error:
        raise Refusal(f"{package} is not installed in the Python that imports ({sys.executable}): {error}; install it "
                      f"there, or give a MODULE.py:NAME that builds the model") from error
    make = library.get_model if package == "torchvision" else library.create_model
    return make(name, **arguments)


def load(options):
    package, _, name = options.source.partition(":")
    arguments = arguments_of(options)
    if package in ("timm", "torchvision"):
        model = from_package(package, name, arguments)
    else:
        path, _, name = options.source.rpartition(":")
        module = module_at(path)
        if not hasattr(module, name):
            known = [word for word in vars(module) if not word.startswith("_")]
            raise Refusal(f"{path} has no {name}; it has {', '.join(known[:20]) or 'nothing'}")
        model = getattr(module, name)
        if not isinstance(model, torch.nn.Module):
            if not callable(model):
                raise Refusal(f"{name} in {path} is neither a torch.nn.Module nor a function that makes one")
            model = model(**arguments)
        elif arguments:
            raise Refusal(f"{name} in {path} is a model already and takes no --arg")
    if not isinstance(model, torch.nn.Module):
        raise Refusal(f"{options.source} made a {type(model).__name__}, not a torch.nn.Module")
    if options.weights:
        load_weights(model, options.weights)
    return model


def load_weights(model, path):
    if not path.endswith(".safetensors"):
        raise Refusal(f"--weights {path}: only safetensors files are read, other formats can hold code; "
                      "host.weights in the run file takes weights that fit in part")
    from safetensors.torch import load_file

    try:
        model.load_state_dict(load_file(path))
    except (OSError, RuntimeError) as error:
        raise Refusal(f"--weights {path}: {error}") from error


def require_float32(model):
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            raise Refusal(f"{name} is {tensor.dtype}; Esper's own precision setting casts, so call .float() on the model")
        if tensor.is_complex() or tensor.is_quantized or tensor.is_sparse:
            raise Refusal(f"{name} is a {tensor.dtype} tensor of layout {tensor.layout}, which Esper does not train")


class Tensors:
    """The model's parameters and buffers, each once, under the name that it has first."""

    def __init__(self, model):
        self.values, self.parameters, self.frozen = {}, [], []
        self._by_place = {}
        named = [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]
        for name, tensor in named:
            self._add(name, tensor)

    def _add(self, name, tensor):
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,250}", name):
            raise Refusal(f"the tensor {name!r} has a name with other characters than letters, digits and _.-; rename the "
                          "module that holds it")
        place = (tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tensor.shape, tensor.stride())
        known = self._by_place.get(place) if tensor.numel() > 0 else None
        if known is not None:
            return known
        self._by_place[place] = name
        self.values[name] = tensor.detach().clone().contiguous()
        if isinstance(tensor, torch.nn.Parameter):
            (self.parameters if tensor.requires_grad else self.frozen).append(name)
        return name

    def name_of(self, name, tensor):
        """The name of the tensor that the program knows by that one; adopts constants of the program."""
        if name in self.values:
            return name
        return self._add(name, tensor)

    def num_parameters(self):
        return sum(self.values[name].numel() for name in self.parameters)


def explain(error, source):
    """What went wrong, and the line of the model's own file where it did."""
    path = os.path.abspath(source.rpartition(":")[0])
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.abspath(frame.filename) == path]
    text = str(error).strip() or type(error).__name__
    text = "\n".join(text.splitlines()[:6])
    where = f" (line {lines[-1].lineno} of {source.rpartition(':')[0]}: {lines[-1].line})" if lines else ""
    return f"{type(error).__name__}: {text}{where}"
