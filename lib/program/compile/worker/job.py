"""One compilation: a program's text in, a package out."""

import functools
import gc
import os
import shutil
import tempfile
import time

import sympy
import torch
import torch._inductor
import torch._inductor.config as inductor
import torch.export

import ordering
import recipes
import toolchain

TORCH_VERSION = torch.__version__

# Touches what most programs touch: views of an arena, products, loops, reductions, a kernel of ATen, changed inputs.
WARM_UP = """
import torch
INPUTS = [((8192,), (1,), torch.float32, "cpu"), ((16, 64), (64, 1), torch.float32, "cpu"), ((16,), (1,), torch.int64, "cpu")]
def step(a0, a1, a2):
    aten = torch.ops.aten
    weight = aten.as_strided.default(a0, [64, 64], [64, 1], 0)
    hidden = aten.relu.default(aten.mm.default(a1, weight))
    hidden = aten.mul.Tensor(hidden, aten.bernoulli.p(hidden, 0.5))
    logits = aten._log_softmax.default(aten.mm.default(hidden, aten.t.default(weight)), 1, False)
    loss, total = aten.nll_loss_forward.default(logits, a2, None, 1, -100)
    grad = aten.nll_loss_backward.default(aten.ones_like.default(loss), logits, a2, None, 1, -100, total)
    grad = aten._log_softmax_backward_data.default(grad, logits, 1, torch.float32)
    grad = aten.view.default(aten.mm.default(aten.t.default(grad), a1), [-1])
    aten.sub_.Tensor(a0, aten.mul.Tensor(aten.cat.default([grad, aten.neg.default(grad)]), 0.1))
    return (loss,)
"""


def simplify_sums_quickly():
    """Inductor asks sympy.simplify for strides: half the time of a convolution network's code generation. For an index
    without divisions, multiplying out gives the same answer."""
    from torch._inductor.codegen import cpp
    from torch.utils._sympy.functions import FloorDiv, ModularIndexing

    slow_stride, slow_range = cpp.stride_at, cpp.simplify_index_in_vec_range

    @functools.lru_cache(None)
    def stride_at(index, var):
        if index.has(FloorDiv, ModularIndexing) or not index.has(var):
            return slow_stride(index, var)
        return sympy.expand(index.subs({var: var + 1}) - index)

    @functools.lru_cache(None)
    def simplify_index(index, var, length):
        if index.has(FloorDiv, ModularIndexing):
            return slow_range(index, var, length)
        return sympy.expand(index)

    cpp.stride_at, cpp.simplify_index_in_vec_range = stride_at, simplify_index


def settle_dtype_rules_once():
    """Inductor fills its one table of them again for each operation of each loop: a tenth of its time. They change only
    when more are registered."""
    from torch._inductor import dtype_propagation, utils
    from torch._inductor.codegen import common

    handler = dtype_propagation.DtypePropagationOpsHandler
    fill, filled = handler.__init__, None

    def fill_if_new(self):
        nonlocal filled
        registered = (len(utils.op_dtype_propagation_rules), len(common.pointwise_overrides_data))
        if filled != registered:
            fill(self)
            filled = registered

    handler.__init__ = fill_if_new


build = None
simplify_sums_quickly()
settle_dtype_rules_once()
ordering.install()
toolchain.install(lambda: build)
inductor.cpp.cxx = (toolchain.compiler(),)


def set_numerics(request):
    """As in the process that will run the program. By them Inductor adds atomically or not, has products in TF32 or not,
    and times its choices or not."""
    torch.use_deterministic_algorithms(request["deterministic"])
    # That has it choose without timing, so that a program of one text is the same whenever it is compiled. max-autotune
    # is there to time: what it chooses is in the package, and so the same in each run that has the package.
    times = request["mode"] == "max-autotune"
    inductor.deterministic = request["deterministic"] and not times
    inductor.write_are_deterministic_algorithms_enabled = not times
    torch.utils.deterministic.fill_uninitialized_memory = False
    if request["device"] != "cpu":
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = request["tf32"]


def load(source):
    names = {}
    exec(compile(source, "<program>", "exec"), names)
    return names


def sizes_of(names):
    """The dynamic sizes of the inputs for torch.export: any batch size, where allowed."""
    if "SIZES" not in names:
        return None
    n = torch.export.Dim("n", min=names["SIZES"][0], max=names["SIZES"][1])
    return {"inputs": tuple({0: n} if i in names["BATCH"] else None for i in range(len(names["INPUTS"])))}


class Step(torch.nn.Module):
    def __init__(self, step):
        super().__init__()
        self.step = step

    def forward(self, *inputs):
        with torch.no_grad():
            return self.step(*inputs)


def inputs_text(source):
    """The inputs a package was compiled for; compared before the package runs (program/python_text.h)."""
    return source[source.index("INPUTS") : source.index("def step")].strip()


def computes_in_fp32(source):
    return "torch.bfloat16" not in source and "torch.float16" not in source


def settings(request):
    chosen = {
        # Random operators stay kernels of the run's own generator: seeds and resuming work as in eager.
        "fallback_random": True,
        "cpp.threads": request["threads"],
        "aot_inductor.metadata": {"esper_inputs": inputs_text(request["source"])},
    }
    if request["device"] == "cpu" and "aten.bernoulli_." not in request["source"]:
        # A program of loops alone then allocates nothing: its intermediate values lie on the stack. Inductor's call of
        # bernoulli_ does not compile with a value that lies there.
        chosen["aot_inductor.allow_stack_allocation"] = True
    if request["mode"] == "max-autotune":
        chosen["max_autotune"] = True
        # TF32 compiled into a product cannot be taken away for a comparison in full fp32 (decision 0040).
        has_tf32_products = request["device"] != "cpu" and request["tf32"] and computes_in_fp32(request["source"])
        chosen["max_autotune_gemm_backends"] = "ATEN,CPP" if has_tf32_products else "ATEN,CPP,TRITON"
    return chosen


def compile_source(request, job_folder, stages):
    # Files of a killed job are removed with its folder.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["TMPDIR"] = tempfile.tempdir = job_folder
    clock = time.monotonic
    began = clock()
    names = load(request["source"])
    inputs = tuple(
        torch.empty_strided(size, stride, dtype=dtype, device=device) for size, stride, dtype, device in names["INPUTS"]
    )
    exported = torch.export.export(Step(names["step"]), inputs, dynamic_shapes=sizes_of(names), strict=False)
    stages["export"] = (clock() - began) * 1000
    package = os.path.join(job_folder, "program.pt2")
    began = clock()
    torch._inductor.aoti_compile_and_package(exported, package_path=package, inductor_configs=settings(request))
    stages["inductor"] = (clock() - began) * 1000
    return package


def compile_program(request, job_folder, store, report):
    """Runs in its own process, which it changes. report: takes a message for the worker."""
    global build
    gc.disable()
    build = toolchain.Build(store, job_folder, request["effort"], TORCH_VERSION, report)
    if request["device"] != "cpu":
        torch.zeros(1, device=request["device"])
        report({"ready": True})
    set_numerics(request)
    recipes.for_all(request["device"], request["deterministic"])
    request["source"] = recipes.RECIPES[request["recipe"]](request["source"])
    torch.set_num_threads(request["threads"])
    package = compile_source(request, job_folder, build.stages)
    return {"package": package, "stages": build.stages, "compiler": build.describe()}


def warm_up(job_folder, store):
    """Warms up Inductor's caches for the jobs forked from here; saves seconds."""
    global build
    build = toolchain.NoBuild(store, job_folder, "quick", TORCH_VERSION)
    try:
        compile_source({"source": WARM_UP, "threads": 1, "mode": "default", "device": "cpu"}, job_folder, {})
    finally:
        del os.environ["TMPDIR"]
        tempfile.tempdir = None
        shutil.rmtree(job_folder, ignore_errors=True)
        gc.collect()
        gc.freeze()
