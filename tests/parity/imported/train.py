"""python train.py FOLDER MODULE:MODEL...: trains each of these models of this folder for 20 steps in plain PyTorch, and
writes to FOLDER/MODEL.safetensors the batches, the losses, every tensor of the model and of the optimizer before each step
and after all, the model with batch norm's statistics computed anew over all batches, and the model after all once more,
trained with inputs that were changed by a rounding error. Each as in a process of its own: whatever draws is seeded anew."""

import importlib
import sys

import torch
from safetensors.torch import save_file

STEPS = 20
# Sizes of a sample, classes, samples of a batch: where batch norm sees few numbers, a rounding error grows.
SAMPLES = {"ResNet18": ((3, 16, 16), 10, 32), "MobileNetV3": ((3, 16, 16), 10, 8), "ViT": ((3, 16, 16), 10, 8),
           "Gpt": ((16,), 40, 8), "Lstm": ((12,), 5, 8), "UNet": ((3, 16, 16), 3, 8), "Gnn": ((24,), 3, 8),
           "InPlace": ((24,), 3, 8), "GeometricGnn": ((24,), 3, 8)}


def batch_of(name, sizes, classes, size):
    if name in ("Gpt", "Lstm"):
        inputs = torch.randint(0, 40, (size, *sizes))
    else:
        inputs = torch.randn(size, *sizes)
    targets = {"Gpt": (size, *sizes), "UNet": (size, *sizes[1:])}.get(name, (size,))
    return inputs, torch.randint(0, classes, targets)


def tensors_of(model, prefix):
    """Tied ones once."""
    tensors, seen = {}, set()
    for key, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:
            tensors[prefix + "host." + key] = tensor.detach().clone().contiguous()
        seen.add(tensor.data_ptr())
    return tensors


def momentum_of(model, optimizer, prefix):
    return {prefix + "host." + name: optimizer.state[parameter]["momentum_buffer"].clone()
            for name, parameter in model.named_parameters() if parameter in optimizer.state}


def train(make, name, batches, nudge=0.0):
    """The model and its momentum before each step, the model after all, and the losses. nudge: what each number of the
    inputs is changed by, as a share."""
    torch.manual_seed(0)  # as `esper import` seeds the start values
    model = make().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    torch.manual_seed(2)
    losses, before = [], {}
    for step, (inputs, targets) in enumerate(batches):
        before.update(tensors_of(model, f"state.{step}."))
        before.update(momentum_of(model, optimizer, f"momentum.{step}."))
        optimizer.zero_grad()
        if nudge and not inputs.is_floating_point():
            with torch.no_grad():
                next(model.parameters()).mul_(1 + nudge)
        logits = model(inputs * (1 + nudge) if inputs.is_floating_point() else inputs)
        if name == "Gpt":
            logits, targets = logits.flatten(0, 1), targets.flatten()
        loss = torch.nn.functional.cross_entropy(logits, targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    before.update(momentum_of(model, optimizer, f"momentum.{len(batches)}."))
    last = tensors_of(model, f"state.{len(batches)}.")
    torch.optim.swa_utils.update_bn([inputs for inputs, _ in batches], model)
    before.update(tensors_of(model, "statistics."))
    return before, last, torch.stack(losses)


def write_reference(source, folder):
    torch.manual_seed(1)
    module, name = source.split(":")
    make = getattr(importlib.import_module(module), name)
    batches = [batch_of(name, *SAMPLES[name]) for _ in range(STEPS)]
    before, last, losses = train(make, name, batches)
    _, nudged, _ = train(make, name, batches, 1.2e-7)  # how far the network by itself carries a rounding error
    saved = {**before, **last, **{"nudged." + key: tensor for key, tensor in nudged.items()}, "losses": losses}
    saved.update({f"inputs.{i}": inputs for i, (inputs, _) in enumerate(batches)})
    saved.update({f"targets.{i}": targets for i, (_, targets) in enumerate(batches)})
    save_file(saved, f"{folder}/{name}.safetensors")


def main(folder, *sources):
    torch.set_num_threads(1)
    for source in sources:
        write_reference(source, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
