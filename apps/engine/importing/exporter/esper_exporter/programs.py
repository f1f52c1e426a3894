"""One exported graph as a list of ATen calls, in the format of Esper's programs."""

import operator
import struct

import sympy
import torch
from torch.export import Dim

from .refusal import Refusal

LARGEST_TRIED = 64  # samples in a batch
TYPICAL = 61  # the batch size at which sizes are written; where they depend on it, an expression stands beside them
DTYPES = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5,
          torch.float32: 6, torch.float64: 7, torch.bool: 11, torch.bfloat16: 15}
MEMORY_FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2,
                  torch.channels_last_3d: 3}
ASSERTIONS = ("aten::_assert_async", "aten::_assert_scalar", "aten::_assert_tensor_metadata", "aten::sym_constrain_range",
              "aten::sym_constrain_range_for_size")
# Their functional forms have no derivative (copy), or make another type (comparisons).
KEPT_IN_PLACE = ("copy_", "eq_", "ge_", "greater_", "greater_equal_", "gt_", "le_", "less_", "less_equal_", "lt_", "ne_",
                 "not_equal_", "logical_and_", "logical_not_", "logical_or_", "logical_xor_")
DROPOUTS = ("aten::dropout", "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout")


def export(model, example, mode):
    try:
        exported = torch.export.export(model, (example,), dynamic_shapes=({0: Dim.AUTO},), strict=False)
    except RecursionError as error:
        raise Refusal(f"torch.export in mode {mode}: {error}") from error
    batch = next(node for node in exported.graph.nodes if node.name == exported.graph_signature.user_inputs[0])
    if not isinstance(batch.meta["val"].shape[0], torch.SymInt):
        raise Refusal(f"in mode {mode} the model works for batches of {example.shape[0]} samples only: torch.export made "
                      "the batch size a constant; look for a .view(), .reshape() or an if that uses x.shape[0] as a number")
    return exported


def with_scalar(target, node):
    """add.Scalar of add.Tensor with a number for its second tensor, as the call that was traced has it."""
    numbers = len(node.args) > 1 and isinstance(node.args[1], (int, float))
    if not numbers or target._schema.overload_name != "Tensor" or "Tensor" not in str(target._schema.arguments[1].type):
        return target
    packet = target.overloadpacket
    if "Scalar" not in packet.overloads():
        raise Refusal(f"{target} takes a number where this operator has no form for one")
    return packet.Scalar


def takes(overload):
    """Types of an operator's arguments, and the names of all but the first, which in-place forms call otherwise."""
    arguments = overload._schema.arguments
    return [str(argument.type) for argument in arguments], [argument.name for argument in arguments[1:]]


def storage_of(meta):
    return meta.untyped_storage()._cdata


def returns_argument(node):
    """A dropout that drops nothing returns its argument itself, which neither its schema nor its trace says."""
    if node.target._schema.name not in DROPOUTS:
        return False
    _, rate, train = node.args
    return rate == 0 or not train


def bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


class Program:
    """operations: [name, arguments, results]; a value is a tensor's number, inputs first.
    owners: of each value, the first one in the same memory."""

    def __init__(self, exported, tensors, mode):
        self.mode, self.tensors, self.signature = mode, tensors, exported.graph_signature
        self.exported = exported
        self.inputs, self.values, self.operations, self.expressions = [], [], [], []
        self.owners, self.owner_of_storage = [], {}
        self.stacks = []  # of each operation: the module calls that it is in, outermost first
        self.ids, self.lists = {}, {}
        graph = exported.graph
        self.symbol = self._batch_symbol(graph)
        self._read_inputs(graph)
        for node in graph.nodes:
            if node.op == "call_function":
                self._read_call(node, ())
            elif node.op == "output":
                self.output = self._read_output(node)

    def doubtful_batches(self):
        """Batch sizes for which the trace need not hold, since the example's decided an if, a number of pieces or which
        kernel computes: the smallest of each decision."""
        batch = next(n for n in self.exported.graph.nodes if n.name == self.signature.user_inputs[0])
        guards = {guard.expr for guard in batch.meta["val"].shape[0].node.shape_env.guards}
        sizes = range(2, LARGEST_TRIED + 1)
        failing = (next((n for n in sizes if guard.subs(self.symbol, n) == sympy.false), None) for guard in guards)
        return {size for size in failing if size is not None}

    # ---- inputs and output

    def _batch_symbol(self, graph):
        user = self.signature.user_inputs
        node = next(node for node in graph.nodes if node.name == user[0])
        return node.meta["val"].shape[0].node.expr

    def _read_inputs(self, graph):
        names = {**self.signature.inputs_to_parameters, **self.signature.inputs_to_buffers,
                 **self.signature.inputs_to_lifted_tensor_constants}
        for node in (node for node in graph.nodes if node.op == "placeholder"):
            if node.name in names:
                name = names[node.name]
                held = self.exported.state_dict.get(name, self.exported.constants.get(name))
                name = "host." + self.tensors.name_of(name, held)
            elif node.name in self.signature.user_inputs:
                name = "input"
            else:
                raise Refusal(f"the program has an input of unknown kind, {node.name}")
            known = next((i for i, other in enumerate(self.inputs) if other == name), None)
            if known is None:
                known = self._new_value(node.meta["val"])
                self.inputs.append(name)
            self.owner_of_storage[storage_of(node.meta["val"])] = known
            self.ids[node] = known

    def _read_output(self, node):
        results = node.args[0]
        results = list(results.values()) if isinstance(results, dict) else list(results)
        if len(results) != 1 or not isinstance(results[0], torch.fx.Node):
            raise Refusal(f"in mode {self.mode} the model returns {len(results)} values; --output NAME or --output 0 says "
                          "which of them is trained")
        return self.ids[results[0]]

    # ---- sizes

    def _affine(self, number, what):
        """(factor, offset) of a size in the batch size n; (0, number) of a constant."""
        if not isinstance(number, torch.SymInt):
            return 0, int(number)
        expression = sympy.sympify(number.node.expr)
        if expression.free_symbols - {self.symbol}:
            raise Refusal(f"{what}: its size depends on what the tensors hold, so it differs from step to step")
        offset = expression.subs(self.symbol, 0)
        factor = sympy.expand(expression - offset).coeff(self.symbol, 1)
        if not (factor.is_Integer and offset.is_Integer) or sympy.expand(factor * self.symbol + offset - expression) != 0:
            raise Refusal(f"{what}: the size {expression} is not a multiple of the batch size {self.symbol} plus a constant")
        return int(factor), int(offset)

    def _typical(self, number):
        """At the typical batch size, whatever the expression: nothing that is run depends on it."""
        if not isinstance(number, torch.SymInt):
            return int(number)
        return int(sympy.sympify(number.node.expr).subs(self.symbol, TYPICAL))

    def _number(self, number, place, what):
        factor, offset = self._affine(number, what)
        if factor:
            self.expressions.append([*place, factor, offset])
        return factor * TYPICAL + offset

    def _new_value(self, meta, what="a tensor"):
        index = len(self.values)
        sizes = [self._number(size, [1, index, 0, k], what) for k, size in enumerate(meta.shape)]
        strides = [self._typical(stride) for stride in meta.stride()]
        if meta.dtype not in DTYPES:
            raise Refusal(f"a tensor of type {meta.dtype}")
        self.values.append([DTYPES[meta.dtype], 0, sizes, strides])
        self.owners.append(self.owner_of_storage.setdefault(storage_of(meta), index))
        return index

    def _learns(self, value):
        return value < len(self.inputs) and self.inputs[value].removeprefix("host.") in self.tensors.parameters

    # ---- calls

    def _read_call(self, node, stack):
        target = node.target
        stack = stack or self._stack_of(node)
        if target is operator.getitem:
            self.ids[node] = self.lists[node.args[0]][node.args[1]]
        elif isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)):
            pass  # sizes are computed from the batch size where they are used
        elif str(target) == "wrap_with_set_grad_enabled":
            self._inline(node, stack)
        elif not isinstance(target, torch._ops.OpOverload):
            raise Refusal(f"{target} is not an ATen operator: {self._place_of(node)}")
        elif target._schema.name not in ASSERTIONS:
            self._append(node, stack)

    def _inline(self, node, stack):
        """torch.no_grad() and the like: the calls within, whose arguments and results carry no gradient."""
        enabled, inner, *arguments = node.args
        graph = getattr(self.exported.graph_module, inner.target).graph
        inputs = [n for n in graph.nodes if n.op == "placeholder"]
        outside = {}  # of detached arguments
        for formal, actual in zip(inputs, arguments):
            if not isinstance(actual, torch.fx.Node) or actual not in self.ids:
                continue
            value = self.ids[formal] = self.ids[actual]
            if not enabled and (value >= len(self.inputs) or self._learns(value)):
                self.ids[formal] = self._detached(formal, stack or self._stack_of(next(iter(formal.users), formal)))
                outside[self.ids[formal]] = value
        for within in graph.nodes:
            if within.op == "call_function":
                self._read_call(within, stack)
            elif within.op == "output":
                results = within.args[0] if isinstance(within.args[0], (list, tuple)) else [within.args[0]]
                self.lists[node] = [self.ids[r] if enabled else self._returned(r, outside, stack) for r in results]

    def _returned(self, node, outside, stack):
        """An argument that was written in place is the tensor that it was, with the gradient that it had."""
        value = self.ids[node]
        return outside[value] if value in outside else self._detached(node, stack)

    def _detached(self, node, stack):
        """In the same memory: what is written into it is seen outside."""
        value = self._new_value(node.meta["val"])
        self._write("aten::detach", [["tensor", self.ids[node]]], [["tensor", value]], stack)
        return value

    def _write(self, name, arguments, results, stack):
        self.operations.append([name, arguments, results])
        self.stacks.append(stack)

    def _append(self, node, stack):
        schema = node.target._schema
        if not schema.name.startswith("aten::"):
            raise Refusal(f"{schema.name} is not an ATen operator, and Esper loads no others: {self._place_of(node)}")
        target, in_place = self._functional(node)
        if in_place or schema.name == "aten::lift_fresh_copy":  # memory of its own, in spite of the trace
            self.owner_of_storage.pop(storage_of(node.meta["val"]), None)
        elif returns_argument(node):
            self.owner_of_storage[storage_of(node.meta["val"])] = self.owners[self.ids[node.args[0]]]
        target = with_scalar(target, node)
        schema = target._schema
        name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        arguments = []
        for index, formal in enumerate(schema.arguments):
            if index < len(node.args):
                value = node.args[index]
            else:
                value = node.kwargs.get(formal.name, formal.default_value)
            arguments.append(self._argument(value, formal, len(arguments), node))
        self._write(name, arguments, self._results(node, schema), stack)
        if in_place:  # what used the tensor sees its new value
            self.ids[node.args[0]] = self.ids[node]

    def _functional(self, node):
        """The operator that makes a new tensor instead of changing a value in place, where that is the same."""
        target = node.target
        packet = target._schema.name.removeprefix("aten::")
        first = node.args[0] if node.args else None
        if not packet.endswith("_") or packet.startswith("_") or packet in KEPT_IN_PLACE or first not in self.ids:
            return target, False
        owner = self.owners[self.ids[first]]
        is_held = owner < len(self.inputs) and self.inputs[owner] != "input"
        if is_held or self._is_seen_elsewhere(first, node):
            return target, False
        plain = getattr(torch.ops.aten, packet.removesuffix("_"), None)
        same = [name for name in (plain.overloads() if plain else ()) if takes(getattr(plain, name)) == takes(target)]
        return (getattr(plain, same[0]), True) if same else (target, False)

    def _is_seen_elsewhere(self, node, call):
        """Whether behind the call something reads the memory of the node by another one."""
        owner = self.owners[self.ids[node]]
        others = [other for other, value in self.ids.items() if other is not node and self.owners[value] == owner]
        is_inner = node.graph is not self.exported.graph
        return any(is_inner if other.graph is not node.graph else any(user > call for user in other.users)
                   for other in others)

    def _results(self, node, schema):
        meta = node.meta["val"]
        metas = meta if len(schema.returns) > 1 else [meta]
        what = f"what {schema.name} returns ({self._place_of(node)})"
        results, ids = [], []
        for made, formal in zip(metas, schema.returns):
            if isinstance(made, (list, tuple)):
                ids.append([self._new_value(tensor, what) for tensor in made])
                results.append(["tensors", ids[-1]])
            elif isinstance(made, torch.Tensor):
                written = formal.alias_info is not None and formal.alias_info.is_write
                ids.append(self._written(node) if written else self._new_value(made, what))
                results.append(["tensor", ids[-1]])
            else:
                ids.append(None)
                results.append(["none"])
        if len(schema.returns) == 1:
            if isinstance(ids[0], list):
                self.lists[node] = ids[0]
            else:
                self.ids[node] = ids[0]
        else:
            self.lists[node] = ids
        return results

    def _written(self, node):
        value = self.ids[node.args[0]]
        owner = self.owners[value]
        name = self.inputs[owner].removeprefix("host.") if owner < len(self.inputs) else ""
        if name == "input" or name in self.tensors.parameters:
            raise Refusal(f"{node.target._schema.name} writes into "
                          f"{'the batch' if name == 'input' else 'the parameter ' + name}: {self._place_of(node)}")
        return value

    # ---- arguments

    def _argument(self, value, formal, index, node):
        place = [3, len(self.operations), index]
        what = f"argument {formal.name} of {node.target}"
        kind = str(formal.type)
        if value is None:
            return ["none"]
        if isinstance(value, torch.fx.Node):
            if value in self.ids:
                return ["tensor", self.ids[value]]
            return self._size(value, kind, place, f"{what} ({self._place_of(node)})")
        if isinstance(value, bool):
            return ["bool", value]
        if isinstance(value, int):
            return ["real", bits(float(value))] if "float" in kind else ["int", value]
        if isinstance(value, float):
            return ["real", bits(value)]
        if isinstance(value, str):
            return ["text", value]
        if isinstance(value, torch.dtype):
            return ["int", DTYPES[value]]
        if isinstance(value, torch.layout):
            return ["int", 0] if value == torch.strided else self._refuse(what, value)
        if isinstance(value, torch.memory_format):
            return ["int", MEMORY_FORMATS[value]]
        if isinstance(value, torch.device):
            return ["device", value.type]
        if isinstance(value, (list, tuple)):
            return self._list(list(value), kind, place, what)
        return self._refuse(what, value)

    def _size(self, value, kind, place, what):
        number = value.meta.get("val")
        if isinstance(number, torch.SymFloat) or "Tensor" in kind:
            raise Refusal(f"{what} is a number that is computed outside tensors, as .item() does; keep it in a tensor")
        if not isinstance(number, (int, torch.SymInt)):
            return self._refuse(what, value)
        return ["int", self._number(number, [*place, 0], what)]

    def _list(self, items, kind, place, what):
        if any(item is None or (isinstance(item, torch.fx.Node) and item in self.ids) for item in items):
            return ["tensors", [-1 if item is None else self.ids[item] for item in items]]
        if "Tensor" in kind:
            return ["tensors", []]
        if all(isinstance(item, bool) for item in items) and items:
            return ["bools", items]
        if "float" in kind:
            return ["reals", [bits(float(item)) for item in items]]
        numbers = []
        for k, item in enumerate(items):
            item = item.meta.get("val") if isinstance(item, torch.fx.Node) else item
            if not isinstance(item, (int, torch.SymInt)):
                return self._refuse(what, item)
            numbers.append(self._number(item, [*place, k], what))
        return ["ints", numbers]

    def _refuse(self, what, value):
        raise Refusal(f"{what} is {value}, which a program cannot hold")

    # ---- places

    def _stack_of(self, node):
        return tuple(call for call in (node.meta.get("nn_module_stack") or {}).values() if call[0])

    def _place_of(self, node):
        trace = (node.meta.get("stack_trace") or "").strip().splitlines()
        return " ".join(line.strip() for line in trace[-2:]) if trace else "no line is known"

    def to_json(self):
        return {"version": 1, "inputs": [[name, "in"] for name in self.inputs], "values": self.values,
                "operations": self.operations, "expressions": sorted(self.expressions), "output": self.output}
