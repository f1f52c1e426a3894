"""Writes a PyTorch model as a host package: two programs of ATen calls, the weights, a description. One JSON object on
standard output says how it went."""

import argparse
import json
import os
import warnings

import torch
from safetensors.torch import save_file

from . import description, models, programs
from .example import Example, adapt
from .refusal import Refusal

BATCH = 3  # of the example: neither 1, which torch broadcasts, nor a size that a model is likely to have


def require_rows(outputs):
    """The model's output for a batch has as many rows as the batch, of the same shape; outputs: by batch size."""
    row = list(outputs[max(outputs)].shape[1:])
    for batch, output in outputs.items():
        if list(output.shape) == [batch, *row]:
            continue
        raise Refusal(f"for a batch of {batch} the model's output has shape {list(output.shape)}, expected {[batch, *row]}; a "
                      ".squeeze() without a dimension also removes a batch dimension of 1")


def check_outputs(model, example, program):
    """The model's outputs in evaluation for a few batches: the engine has to find the same. The last batch of a pass may be
    a single sample."""
    model.eval()
    sizes = sorted({1, 2, BATCH + 2} | program.doubtful_batches())
    inputs = {batch: example.batch(batch).contiguous() for batch in sizes}
    with torch.no_grad():
        outputs = {batch: model(x).contiguous() for batch, x in inputs.items()}
    require_rows(outputs)
    return {f"{kind}.{batch}": tensor for kind, batches in (("input", inputs), ("output", outputs))
            for batch, tensor in batches.items()}


def gradients_of(output, parameters):
    """Of half the output's square; none where a parameter is not used."""
    if not parameters:
        return {}
    made = torch.autograd.grad(output, list(parameters.values()), output.detach(), allow_unused=True)
    return {"train.gradient.host." + name: gradient.clone(memory_format=torch.contiguous_format)
            for name, gradient in zip(parameters, made) if gradient is not None}


def set_buffers(model, values):
    with torch.no_grad():
        for name, buffer in model.named_buffers():
            buffer.copy_(values[name])


def training_outputs(model, example, tensors, program):
    """The same in training mode, and its gradients; nothing where the model draws random numbers there. Its buffers stay
    as they are."""
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    parameters = dict(model.named_parameters(remove_duplicate=False))
    x = example.batch(max(program.doubtful_batches(), default=BATCH))
    torch.manual_seed(1)
    output = model.train()(x)
    gradients = gradients_of(output, {name: parameters[name] for name in tensors.parameters})
    set_buffers(model, buffers)
    torch.manual_seed(2)
    with torch.no_grad():
        again = model(x)
    set_buffers(model, buffers)
    if not torch.equal(again, output):
        return {}
    return {"train.input": x.contiguous(), "train.output": output.detach().contiguous(), **gradients}


def write_json(path, content):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, separators=(",", ":"))


def run(options):
    torch.manual_seed(options.seed)
    model = models.load(options)
    models.require_float32(model)
    example = Example(options.example)
    tensors = models.Tensors(model)
    adapt(model, example, options.output)
    written = {}
    for mode in ("train", "evaluate"):
        exported = programs.export(model.train(mode == "train"), example.batch(BATCH), mode)
        written[mode] = programs.Program(exported, tensors, mode)
    host = description.describe(model, written["train"], written["evaluate"], tensors, options)
    host["input"] = {"sizes": example.sizes, "dtype": example.dtype, "example": options.example}
    os.makedirs(options.out, exist_ok=True)
    for mode, program in written.items():
        write_json(os.path.join(options.out, mode + ".json"), program.to_json())
    write_json(os.path.join(options.out, "host.json"), host)
    save_file({"host." + name: tensor for name, tensor in tensors.values.items()},
              os.path.join(options.out, "weights.safetensors"))
    save_file({**check_outputs(model, example, written["evaluate"]),
               **training_outputs(model, example, tensors, written["train"])},
              os.path.join(options.out, "check.safetensors"))
    return {"operations": len(written["train"].operations), "parameters": tensors.num_parameters(),
            "slots": sum(site["auto"] for site in host["sites"]), "sites": len(host["sites"])}


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True, help="MODULE.py:NAME, timm:NAME or torchvision:NAME")
    parser.add_argument("--example", required=True)
    parser.add_argument("--output", default="")
    parser.add_argument("--argument", action="append", default=[])
    parser.add_argument("--weights", default="")
    parser.add_argument("--license", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", required=True)
    return parser.parse_args()


def main():
    options = parse_options()
    answer = os.dup(1)
    os.dup2(2, 1)  # what the model prints is no answer
    warnings.simplefilter("ignore")
    try:
        result = run(options)
    except Refusal as refusal:
        result = {"refused": str(refusal)}
    except SystemExit as end:
        result = {"refused": f"the model's code ended Python (sys.exit, status {end.code}); remove that from the file"}
    except Exception as error:  # noqa: BLE001: any error of the model's code is reported
        result = {"refused": models.explain(error, options.source)}
    with os.fdopen(answer, "w", encoding="utf-8") as out:
        out.write(json.dumps(result) + "\n")
    return 0

