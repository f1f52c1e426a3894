"""Recipes: named ways of lowering a program, applied in the job's own process before it is compiled.

A recipe exists because it was measured to win somewhere; docs/decisions/0010-lowering-recipes.md has the numbers.
"""

import torch
from torch._inductor import decomposition, lowering

aten = torch.ops.aten

# Products up to this size (M*N*K) become loops in the recipe "loops": the call of a kernel costs more than its work.
LOOPS_MAX_PRODUCT = 4096


def keep_as_kernel(op):
    """Inductor calls ATen for it instead of generating code."""
    lowering.lowerings.pop(op, None)
    decomposition.decompositions.pop(op, None)
    lowering.make_fallback(op, warn=False, override_decomp=True)


def aten_pool():
    """Inductor's CPU code for this backward gathers, and is repeated inside whatever it is fused with."""
    keep_as_kernel(aten.max_pool2d_with_indices_backward.default)


def typical(size):
    """Of a batch that may have any size, the one that the program is written for; asking for it binds nothing."""
    return size if isinstance(size, int) else size.node.hint


def size_of_product(a, b):
    sizes = [typical(size) for size in (*a.shape, b.shape[-1])]
    return None if None in sizes else torch.Size(sizes).numel()


def loops():
    """Small matrix products as multiply and sum, which fuse with their neighbours."""

    def product(a, b):
        return (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2)

    def mm(a, b):
        size = size_of_product(a, b)
        return NotImplemented if size is None or size > LOOPS_MAX_PRODUCT else product(a, b)

    def addmm(bias, a, b, beta=1, alpha=1):
        result = mm(a, b)
        if result is NotImplemented:
            return result
        return (result if alpha == 1 else result * alpha) + (bias if beta == 1 else bias * beta)

    decomposition.decompositions[aten.mm.default] = mm
    decomposition.decompositions[aten.addmm.default] = addmm


def wide_bf16():
    """bf16 products as fp32 ones of the same rounded operands, rounded once: the same values, but for the order of
    their sums. For processors without AMX, whose fp32 product is the faster one."""

    def is_bf16(*operands):
        return all(operand.dtype == torch.bfloat16 and operand.device.type == "cpu" for operand in operands)

    def mm(a, b):
        return torch.mm(a.float(), b.float()).to(a.dtype) if is_bf16(a, b) else NotImplemented

    def addmm(bias, a, b, beta=1, alpha=1):
        if not is_bf16(bias, a, b):
            return NotImplemented
        return torch.addmm(bias.float(), a.float(), b.float(), beta=beta, alpha=alpha).to(a.dtype)

    decomposition.decompositions[aten.mm.default] = mm
    decomposition.decompositions[aten.addmm.default] = addmm


RECIPES = {
    "default": lambda: None,
    "aten_pool": aten_pool,
    "loops": loops,
    "wide_bf16": wide_bf16,
}
