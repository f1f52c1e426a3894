"""Writes what PyTorch makes of an exported network, and checks every form by loading it again.

Reads one line of JSON from standard input: {format, folder, text}. The folder has model.py, weights.safetensors and
example.safetensors: inputs and outputs as Esper computes them and, of numbers, raw: the inputs as they are in the data.
`text`: of sequences, the raw first input. Answers in one line of JSON: {difference, checked_by, torch, file} or
{missing: [packages]} or {failed: why}. `file`: the name of what it wrote, if anything.
"""
import ctypes
import importlib.util
import json
import os
import pathlib
import signal
import sys
import traceback

PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # whoever asked is gone: nobody wants the answer

# What libraries print belongs to the log.
CHANNEL = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
REQUEST = json.loads(sys.stdin.readline())
# What Inductor keeps goes with the folder: nothing that others may write to is believed.
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["TRITON_CACHE_DIR"] = REQUEST["folder"] + "/cache"
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import torch

NAMES = {"pt2": "model.pt2", "aoti": "model_aoti.pt2", "onnx": "model.onnx"}


def model_module(folder):
    spec = importlib.util.spec_from_file_location("model", folder / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Comparison:
    """The largest difference from Esper's outputs, as a share of the largest output, or of 1 where that is less."""

    def __init__(self, example):
        self.inputs, self.outputs = example["inputs"], example["outputs"]
        self.unit = max(1.0, self.outputs.abs().max().item())
        self.largest = 0.0

    def take(self, outputs, rows):
        if outputs.shape != self.outputs[:rows].shape:
            raise ValueError(f"its outputs are {list(outputs.shape)}, not {list(self.outputs[:rows].shape)}")
        difference = (outputs - self.outputs[:rows]).abs().max().item()
        # NaN is no agreement.
        self.largest = max(self.largest, difference / self.unit if difference == difference else float("inf"))

    def take_all_sizes(self, run):
        """Of the whole batch and of one sample: the batch size is free."""
        for rows in sorted({len(self.inputs), 1}, reverse=True):
            self.take(run(self.inputs[:rows]), rows)


def check_preparation(module, example, text):
    if "raw" in example:
        prepared, expected = module.preprocess(example["raw"]), example["inputs"]
    elif text:
        prepared, expected = module.preprocess(text), example["inputs"][:1]
    else:
        return
    if prepared.shape != expected.shape or not torch.allclose(prepared, expected, rtol=1e-5, atol=1e-5):
        raise ValueError("preprocess() does not prepare samples as Esper does")


def exported_program(model, inputs):
    batch = torch.export.Dim("batch", min=1)
    with torch.no_grad():
        return torch.export.export(model, (inputs,), dynamic_shapes=({0: batch},))


def write_pt2(model, inputs, path):
    torch.export.save(exported_program(model, inputs), path)
    return torch.export.load(path).module(), "torch.export"


def write_aoti(model, inputs, path):
    with torch.no_grad():
        torch._inductor.aoti_compile_and_package(exported_program(model, inputs), package_path=str(path))
    return torch._inductor.aoti_load_package(str(path)), "AOTInductor"


def write_onnx(model, inputs, path):
    names = {"input_names": ["input"], "output_names": ["output"]}
    shapes = ({0: torch.export.Dim("batch", min=1)},)
    torch.onnx.export(model, (inputs,), path, dynamo=True, dynamic_shapes=shapes, external_data=False, verbose=False,
                      **names)
    if importlib.util.find_spec("onnxruntime"):
        import onnxruntime

        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return lambda x: torch.from_numpy(session.run(None, {"input": x.numpy()})[0]), "onnxruntime"
    import onnx.reference

    evaluator = onnx.reference.ReferenceEvaluator(str(path))
    return lambda x: torch.from_numpy(evaluator.run(None, {"input": x.numpy()})[0]), "onnx.reference"


WRITERS = {"pt2": write_pt2, "aoti": write_aoti, "onnx": write_onnx}


def export(request):
    kind, folder = request["format"], pathlib.Path(request["folder"])
    needed = ["onnx", "onnxscript"] if kind == "onnx" else []
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        return {"missing": missing}
    module = model_module(folder)
    example = module.read_safetensors(folder / "example.safetensors")
    comparison = Comparison(example)
    check_preparation(module, example, request["text"])
    model = module.load()
    with torch.no_grad():
        comparison.take_all_sizes(model)
        checked_by = "PyTorch"
        if kind in WRITERS:
            run, checked_by = WRITERS[kind](model, comparison.inputs, folder / NAMES[kind])
            comparison.take_all_sizes(run)
    return {
        "difference": comparison.largest,
        "checked_by": checked_by,
        "torch": torch.__version__,
        "file": NAMES.get(kind),
    }


def answer(request):
    try:
        return export(request)
    except Exception as error:
        traceback.print_exc()
        lines = [line for line in str(error).splitlines() if line.strip()]
        return {"failed": f"{type(error).__name__}: {lines[0] if lines else ''}"[:400]}


torch.set_num_threads(1)
print(json.dumps(answer(REQUEST)), file=CHANNEL, flush=True)
