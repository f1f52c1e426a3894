"""Recipes: named ways of lowering a program, applied in the job's own process before it is compiled.

A recipe takes the program's text and returns the text that is compiled. It exists because it was measured to win
somewhere; docs/decisions/0010-lowering-recipes.md has the numbers. What never lost is done for every program
(`for_all`).
"""

import torch
from torch._inductor import decomposition, ir, lowering
from torch._inductor.utils import sympy_product
from torch._inductor.virtualized import V

aten = torch.ops.aten

# Products up to this size (M*N*K) become loops in the recipe "loops": the call of a kernel costs more than its work.
LOOPS_MAX_PRODUCT = 4096

# A dot product is the sum of those of its pieces. Inductor sums a long row in one accumulator, kept in memory, and so
# waits for each addition; the sums of short rows run side by side.
DOT_PIECE = 256


def keep_as_kernel(op):
    """Inductor calls ATen for it instead of generating code."""
    lowering.lowerings.pop(op, None)
    decomposition.decompositions.pop(op, None)
    lowering.make_fallback(op, warn=False, override_decomp=True)


def is_single(*operands):
    return all(operand.dtype == torch.float32 and operand.device.type == "cpu" for operand in operands)


def dot_by_pieces():
    whole = decomposition.decompositions[aten.dot.default]

    def dot(a, b):
        size = a.shape[0]
        if not isinstance(size, int) or size < 2 * DOT_PIECE or not is_single(a, b):
            return whole(a, b)
        product, end = a * b, size // DOT_PIECE * DOT_PIECE
        pieces = product[:end].view(-1, DOT_PIECE).sum(1).sum()
        return pieces if end == size else pieces + product[end:].sum()

    decomposition.decompositions[aten.dot.default] = dot


def bias_apart(product):
    """addmm as a product and a sum: the sum fuses with what follows, and the product need not read its result first."""

    def addmm(bias, a, b, beta=1, alpha=1):
        if not is_single(bias, a, b) or beta != 1 or alpha != 1:
            return NotImplemented
        return product(a, b) + bias

    decomposition.decompositions[aten.addmm.default] = addmm


def place_of_product(source, target):
    """The buffer of the product that `source`, one of the tensors to be joined, is all of, given its place in
    `target`; None where it must be copied: it has another reader, or does not lie there in one piece."""
    view = source.data if isinstance(source, ir.TensorBox) else source
    if not isinstance(view, ir.ReinterpretView) or not isinstance(view.data, ir.StorageBox):
        return None
    product = view.data.data
    if not isinstance(product, ir.ExternKernelOut) or not isinstance(product.layout, ir.FixedLayout):
        return None
    if product.origin_node is None or len(product.origin_node.users) != 1:
        return None
    if not ir.is_storage_and_layout(target):
        return None
    storage, place = ir.as_storage_and_layout(target)
    made, read = product.layout, view.layout
    if not (made.is_contiguous() and read.is_contiguous() and place.is_contiguous()):
        return None
    same_size = V.graph.sizevars.statically_known_equals(sympy_product(made.size), sympy_product(read.size))
    if not same_size or made.offset != 0 or read.offset != 0 or made.dtype != read.dtype or made.dtype != place.dtype:
        return None
    layout = ir.FixedLayout(made.device, made.dtype, made.size, made.stride, place.offset)
    product.layout = ir.NonOwningLayout(ir.ReinterpretView(data=storage, layout=layout))
    return product


def join_without_copies():
    """Products that are joined, as gradients are, are written where the joined tensor has them. Inductor does so only
    where no view lies between."""
    copy = ir.ConcatKernel.realize_into.__func__

    def realize_into(kind, source, target):
        product = place_of_product(source, target)
        return copy(kind, source, target) if product is None else product

    ir.ConcatKernel.realize_into = classmethod(realize_into)


def group_norm_gradient_in_its_type():
    """ATen's gradient at the input has the input's type. PyTorch's decomposition has float32 where the scale has, as
    under autocast on the CPU, and a convolution before it then meets two types in its own gradient."""
    whole = decomposition.decompositions[aten.native_group_norm_backward.default]

    def backward(gradient, values, *rest):
        at_input, *others = whole(gradient, values, *rest)
        return (None if at_input is None else at_input.to(values.dtype), *others)

    decomposition.decompositions[aten.native_group_norm_backward.default] = backward


def for_all(device, deterministic):
    group_norm_gradient_in_its_type()
    if deterministic:
        # Inductor adds a table's gradients row by row in an operation that sorts the rows: many kernels on a GPU.
        keep_as_kernel(aten.embedding_dense_backward.default)
    if device == "cpu":
        dot_by_pieces()
        bias_apart(torch.mm)
        join_without_copies()


def default(source):
    return source


def aten_pool(source):
    """Inductor's CPU code for this backward gathers, and is repeated inside whatever it is fused with."""
    keep_as_kernel(aten.max_pool2d_with_indices_backward.default)
    return source


def typical(size):
    """Of a batch that may have any size, the one that the program is written for; asking for it binds nothing."""
    return size if isinstance(size, int) else size.node.hint


def size_of_product(a, b):
    sizes = [typical(size) for size in (*a.shape, b.shape[-1])]
    return None if None in sizes else torch.Size(sizes).numel()


def loops(source):
    """Small matrix products as multiply and sum, which fuse with their neighbours."""

    def mm(a, b):
        size = size_of_product(a, b)
        if size is None or size > LOOPS_MAX_PRODUCT:
            return NotImplemented
        return (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)

    decomposition.decompositions[aten.mm.default] = mm
    bias_apart(torch.mm)
    return source


def turned(source):
    """Layers' products the other way round, so that the samples lie side by side in their results: neither the weights
    nor the gradients at the results are then turned within the product."""
    bias_apart(lambda a, b: torch.mm(b.t(), a.t()).t())
    return source


def single(source):
    """bf16 values as fp32 ones. For processors without AMX, whose fp32 products are the faster ones; Inductor leaves out
    most of the roundings between them anyway, and what is left are copies."""
    inputs, begin, step = source.partition("def step")
    if "torch.bfloat16" in inputs:
        raise ValueError("an input is kept in bf16")
    return inputs + begin + step.replace("torch.bfloat16", "torch.float32")


def single_turned(source):
    return single(turned(source))


RECIPES = {recipe.__name__: recipe for recipe in (default, aten_pool, loops, turned, single, single_turned)}
