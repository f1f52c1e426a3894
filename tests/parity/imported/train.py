"""python train.py MODEL FOLDER: trains a model of models.py for 20 steps in plain PyTorch, and writes the batches, the
losses, and every tensor of the model after one step, after all, and after all with inputs changed by a rounding
error."""

import sys

import torch
from safetensors.torch import save_file

import models

STEPS, BATCH = 20, 8
SAMPLES = {"ResNet18": ((3, 16, 16), 10), "MobileNetV3": ((3, 16, 16), 10), "ViT": ((3, 16, 16), 10),
           "Gpt": ((16,), 40), "Lstm": ((12,), 5), "UNet": ((3, 16, 16), 3), "Gnn": ((24,), 3)}


def batch_of(name, sizes, classes):
    if name in ("Gpt", "Lstm"):
        inputs = torch.randint(0, 40, (BATCH, *sizes))
    else:
        inputs = torch.randn(BATCH, *sizes)
    targets = {"Gpt": (BATCH, *sizes), "UNet": (BATCH, *sizes[1:])}.get(name, (BATCH,))
    return inputs, torch.randint(0, classes, targets)


def tensors_of(model, prefix):
    """Tied ones once."""
    tensors, seen = {}, set()
    for key, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:
            tensors[prefix + "host." + key] = tensor.detach().clone().contiguous()
        seen.add(tensor.data_ptr())
    return tensors


def train(name, batches, nudge=0.0):
    """The model after one step and after all, and the losses. nudge: what each number of the inputs is changed by, as
    a share."""
    torch.manual_seed(0)  # as `esper import` seeds the start values
    model = getattr(models, name)().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    torch.manual_seed(2)
    losses, first = [], None
    for inputs, targets in batches:
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
        first = first or tensors_of(model, "first.")
    return first, tensors_of(model, ""), torch.stack(losses)


def main(name, folder):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    batches = [batch_of(name, *SAMPLES[name]) for _ in range(STEPS)]
    first, last, losses = train(name, batches)
    _, nudged, _ = train(name, batches, 1.2e-7)  # how far the network by itself carries a rounding error
    saved = {**first, **last, **{"nudged." + key: tensor for key, tensor in nudged.items()}, "losses": losses}
    saved.update({f"inputs.{i}": inputs for i, (inputs, _) in enumerate(batches)})
    saved.update({f"targets.{i}": targets for i, (_, targets) in enumerate(batches)})
    save_file(saved, folder + "/reference.safetensors")


if __name__ == "__main__":
    main(*sys.argv[1:])
