"""One compilation: a program's text in, a package out."""

import errno
import os
import time

import torch
import torch._inductor
import torch._inductor.config as inductor
import torch.export
from torch._inductor import exc

import recipes
import toolchain

TORCH_VERSION = torch.__version__
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


def load(source):
    names = {}
    exec(compile(source, "<program>", "exec"), names)
    return names["step"], names["INPUTS"]


class Step(torch.nn.Module):
    def __init__(self, step):
        super().__init__()
        self.step = step

    def forward(self, *inputs):
        with torch.no_grad():
            return self.step(*inputs)


def settings(request):
    chosen = {
        # Random operators stay kernels of the run's own generator: seeds and resuming work as in eager.
        "fallback_random": True,
    }
    if request["mode"] == "max-autotune":
        chosen["max_autotune"] = True
        chosen["max_autotune_gemm_backends"] = "ATEN,CPP,TRITON"
    return chosen


def compile_program(request, job_folder, folder):
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = job_folder
    build = toolchain.Build(folder, request["effort"], TORCH_VERSION)
    build.install()
    stages = build.stages
    clock = time.monotonic
    began = clock()
    recipes.RECIPES[request["recipe"]]()
    torch.set_num_threads(request["threads"])
    step, shapes = load(request["source"])
    inputs = tuple(torch.empty_strided(shape, stride, dtype=dtype, device=device) for shape, stride, dtype, device in shapes)
    exported = torch.export.export(Step(step), inputs, strict=False)
    stages["export"] = (clock() - began) * 1000
    package = os.path.join(job_folder, "program.pt2")
    began = clock()
    torch._inductor.aoti_compile_and_package(exported, package_path=package, inductor_configs=settings(request))
    stages["inductor"] = (clock() - began) * 1000
    return {"package": package, "stages": stages, "compiler": build.describe()}


def describe(error):
    text = f"{type(error).__name__}: {error}"
    cause = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in FULL_DISK or "No space left on device" in str(cause):
            return {"error": "disk_full", "reason": text}
        if isinstance(cause, MemoryError):
            return {"error": "out_of_memory", "reason": text}
        if isinstance(cause, exc.InvalidCxxCompiler):
            return {"error": "no_compiler", "reason": text}
        cause = cause.__cause__ or cause.__context__
    return {"error": "failed", "reason": text}
