"""What the package says of the model: its tensors, and the places where modules can grow."""

import os

import torch

from .refusal import Refusal

FLOAT32 = 6
KINDS = {2: "features", 3: "sequence", 4: "image"}
CONTAINERS = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)


def ids_of(argument):
    if argument[0] == "tensor":
        return [argument[1]]
    return argument[1] if argument[0] == "tensors" else []


class Uses:
    """Which operation makes a value, which read it, and whose memory is written in place."""

    def __init__(self, program):
        self.program = program
        self.made, self.read = {}, {}
        written = set()  # memory, by the value that it came with
        for index, (_, arguments, results) in enumerate(program.operations):
            for value in (v for argument in arguments for v in ids_of(argument)):
                self.read.setdefault(value, []).append(index)
            for value in (v for result in results for v in ids_of(result)):
                if value in self.made:
                    written.add(program.owners[value])
                self.made.setdefault(value, index)
        self.written = {value for value, owner in enumerate(program.owners) if owner in written}

    def sizes(self, value):
        """Without the batch; nothing where the first dimension is not the batch alone, or others depend on it."""
        expressions = [e for e in self.program.expressions if e[0] == 1 and e[1] == value]
        sizes = self.program.values[value][2]
        if [e[3:] for e in expressions] != [[0, 1, 0]] or self.program.values[value][0] != FLOAT32:
            return None
        return sizes[1:]


def module_outputs(uses):
    """By module path: the one value that leaves it."""
    within = {}
    for index, stack in enumerate(uses.program.stacks):
        for path, _ in stack:
            within.setdefault(path, set()).add(index)
    outputs = {}
    for path, operations in within.items():
        leaving = set()
        for index in operations:
            for value in (v for result in uses.program.operations[index][2] for v in ids_of(result)):
                readers = uses.read.get(value, [])
                if value == uses.program.output or any(reader not in operations for reader in readers):
                    leaving.add(value)
        if len(leaving) == 1:
            outputs[path] = leaving.pop()
    return outputs


def blocks_of(model):
    """Paths of the modules that are blocks: the elements of the outermost lists of modules; without such a list the
    modules that the model is made of; in a plain chain of layers its activations."""
    found = []

    def visit(path, module):
        children = list(module.named_children())
        name = lambda child: f"{path}.{child}" if path else child  # noqa: E731
        inner = [child for child, made in children if any(True for _ in made.children())]
        if isinstance(module, CONTAINERS) and len(inner) >= 2:
            found.extend(name(child) for child in inner)
            return
        if path and not any(isinstance(m, CONTAINERS) and holds_blocks(m) for m in module.modules()):
            if any(True for _ in module.parameters()):
                found.append(path)
            return
        for child, made in children:
            if child in inner:
                visit(name(child), made)

    visit("", model)
    return found or chain_of(model)


def holds_blocks(module):
    return sum(any(True for _ in child.children()) for child in module.children()) >= 2


def chain_of(model):
    layers = [(path, made) for path, made in model.named_modules() if path and not any(True for _ in made.children())]
    activations = [path for path, made in layers if type(made).__module__.endswith("modules.activation")]
    return activations or [path for path, made in layers if any(True for _ in made.parameters())]


def num_consumers(uses, path, value):
    """How many modules, or operations of a common ancestor, take the value."""
    parts = path.split(".")
    groups = set()
    for reader in uses.read.get(value, []):
        stack = uses.program.stacks[reader]
        other = stack[-1][0].split(".") if stack else []
        common = 0
        while common < min(len(parts), len(other)) and parts[common] == other[common]:
            common += 1
        groups.add(".".join(other[:common + 1]) if common < len(other) else reader)
    return len(groups)


def only_reader(uses, value):
    readers = uses.read.get(value, [])
    return uses.program.operations[readers[0]] if len(readers) == 1 else None


def passes_mean(uses, operation, value):
    """The value behind a mean over height and width, whatever reshapes it; None where there is none."""
    name, arguments, results = operation
    is_mean = name == "aten::adaptive_avg_pool2d" and arguments[1] == ["ints", [1, 1]]
    is_mean |= name == "aten::mean.dim" and sorted(d % 4 for d in arguments[1][1]) == [2, 3]
    if not is_mean:
        return None
    value = results[0][1]
    while (operation := only_reader(uses, value)) is not None:
        if operation[0] not in ("aten::flatten.using_ints", "aten::view", "aten::reshape", "aten::squeeze.dims",
                                "aten::dropout"):
            return value
        value = operation[2][0][1]
    return None


def taken_by(uses, value, rank, learning):
    """The layer that alone takes the value, is linear and learns; empty where there is none."""
    operation = only_reader(uses, value)
    if operation is not None and rank == 4 and operation[0] != "aten::conv2d":
        value = passes_mean(uses, operation, value)
        operation = only_reader(uses, value) if value is not None else None
    if operation is None:
        return ""
    name, arguments, _ = operation
    groups = arguments[6][1] if name == "aten::conv2d" else 1
    if name not in ("aten::linear", "aten::conv2d") or groups != 1 or arguments[0] != ["tensor", value]:
        return ""
    inputs = uses.program.inputs
    names = [inputs[a[1]] if a[0] == "tensor" and a[1] < len(inputs) else "" for a in arguments[1:3]]
    layer = names[0].removesuffix(".weight")
    alone = len(uses.read[arguments[1][1]]) == 1
    is_layer = layer != names[0] and (arguments[2] == ["none"] or names[1] == layer + ".bias")
    if not is_layer or not alone or names[0] not in learning:
        return ""
    return layer


def find_sites(model, train, evaluate, learning):
    uses = Uses(train), Uses(evaluate)
    outputs = [module_outputs(u) for u in uses]
    blocks = set(blocks_of(model))
    by_value = {}
    for path, value in outputs[0].items():
        sizes = uses[0].sizes(value)
        other = outputs[1].get(path)
        usable = sizes is not None and len(sizes) + 1 in KINDS and other is not None and uses[1].sizes(other) == sizes
        if usable and value not in uses[0].written and other not in uses[1].written and value in uses[0].made:
            by_value.setdefault((value, other), []).append(path)
    sites = []
    for (value, other), paths in by_value.items():
        named = [path for path in paths if path in blocks]
        path = named[0] if named else paths[0]
        sizes = uses[0].sizes(value)
        is_end = value == train.output
        sites.append({"path": path, "also": [p for p in paths if p != path], "kind": KINDS[len(sizes) + 1],
                      "shape": sizes,
                      "auto": bool(named) and not is_end and num_consumers(uses[0], path, value) == 1,
                      "taken_by": taken_by(uses[0], value, len(sizes) + 1, learning),
                      "train": [value, uses[0].made[value]], "evaluate": [other, uses[1].made[other]]})
    sites.sort(key=lambda site: site["train"][1])
    in_order = [site["evaluate"][1] for site in sites]
    if in_order != sorted(in_order):
        raise Refusal("the model runs its modules in another order in evaluation than in training")
    return sites


def describe(model, train, evaluate, tensors, options):
    sizes = [Uses(program).sizes(program.output) for program in (train, evaluate)]
    if sizes[0] is None or sizes[0] != sizes[1]:
        raise Refusal("the model's output is not a float32 tensor whose first dimension is the batch, of one shape in "
                      "training and evaluation")
    if not sizes[0]:
        raise Refusal("the model's output has no dimension besides the batch's; let it return one number as [batch, 1]")
    text = ""
    if options.license:
        with open(options.license, encoding="utf-8") as file:
            text = file.read()
    learning = ["host." + name for name in tensors.parameters]
    package, _, name = options.source.rpartition(":")
    return {"format": 1, "source": f"{os.path.basename(package)}:{name}", "class": type(model).__name__,
            "arguments": options.argument, "seed": options.seed, "torch": torch.__version__, "license": text,
            "output": sizes[0], "parameters": learning,
            "frozen": ["host." + name for name in tensors.frozen],
            "sites": find_sites(model, train, evaluate, learning)}
