#!/usr/bin/env python3
"""Writes baselines/parity/: training runs in Python torch that tests/parity/step_parity_test.cpp repeats in C++.

Run with the private environment's interpreter:  .esper/python/bin/python scripts/record_parity.py [CASE ...]

Each case is one safetensors file:
  initial.ID, final.ID          parameters and buffers, by the ids that Esper's hosts give them
  average.ID                    averaged parameters, where the case has them; batch norm's statistics of these, where it
                                says of which batches of the pool (statistics_batches)
  loss                          [steps] float64: mean training loss of each step, before its update
  inputs, targets               [samples, ...]: one fixed pool; step s uses samples (s*batch + i) % samples, i < batch
  metadata["case"]              JSON: host, sample shape, optimizer, steps, batch, microbatches, clip, smoothing, ...
"""
import copy
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "baselines" / "parity"
STEPS = 50


class Linear(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.head = nn.Linear(features, classes)

    def forward(self, x):
        return self.head(x.flatten(1))


class Mlp(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        for i, width in enumerate(hidden):
            self.add_module(f"block{i}", nn.ModuleDict({"linear": nn.Linear(features, width)}))
            features = width
        self.depth = len(hidden)
        self.head = nn.Linear(features, classes)

    def forward(self, x):
        x = x.flatten(1)
        for i in range(self.depth):
            x = F.relu(getattr(self, f"block{i}")["linear"](x))
        return self.head(x)


class Cnn(nn.Module):
    def __init__(self, channels, blocks, base, kernel, pools, classes):
        super().__init__()
        self.depth, self.pools = blocks, pools
        for i in range(blocks):
            out = base * 2**i
            conv = nn.Conv2d(channels, out, kernel, padding=kernel // 2, bias=False)
            self.add_module(f"block{i}", nn.ModuleDict({"conv": conv, "norm": nn.BatchNorm2d(out)}))
            channels = out
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        for i in range(self.depth):
            block = getattr(self, f"block{i}")
            x = F.relu(block["norm"](block["conv"](x)))
            if i < self.pools:
                x = F.max_pool2d(x, 2)
        return self.head(x.mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        b, t, width = x.shape
        q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2) for p in self.qkv(x).split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(b, t, width))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict({"up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width)})

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp["down"](F.gelu(self.mlp["up"](self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, vocabulary, context, width, heads, layers):
        super().__init__()
        self.depth = layers
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        # Wide enough that no gradient is mere rounding error, which AdamW would blow up into a step of full size.
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.1)
        for i in range(layers):
            self.add_module(f"layer{i}", Layer(width, heads))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        x = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
        for i in range(self.depth):
            x = getattr(self, f"layer{i}")(x)
        return F.linear(self.norm(x), self.tokens.weight)


HOSTS = {
    "linear": (dict(kind="linear"), dict(kind="features", features=16, num_classes=4)),
    "mlp": (dict(kind="mlp", hidden=[24, 16]), dict(kind="features", features=20, num_classes=5)),
    "cnn": (
        dict(kind="cnn", blocks=3, base_channels=4, kernel=3, pool_layers=2),
        dict(kind="image", channels=2, height=8, width=8, num_classes=5),
    ),
    "transformer": (
        dict(kind="transformer", layers=2, embedding=16, heads=2, segments=2),
        dict(kind="tokens", context=12, num_classes=11),
    ),
}

SGD = dict(kind="sgd", lr=0.05, momentum=0.0, nesterov=False, weight_decay=0.0)
ADAMW = dict(kind="adamw", lr=0.002, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01)


def case(host, optimizer, **more):
    base = dict(batch=10, microbatches=[10], clip_norm=0.0, label_smoothing=0.0, ema_decay=0.0, precision="fp32")
    return {**base, "host": host, "optimizer": optimizer, "steps": STEPS, **more}


CASES = {
    "linear_sgd": case("linear", SGD),
    "mlp_sgd": case("mlp", SGD),
    "mlp_sgd_momentum": case("mlp", {**SGD, "momentum": 0.9}),
    "mlp_sgd_nesterov_decay": case("mlp", {**SGD, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "mlp_adamw": case("mlp", ADAMW),
    "mlp_adamw_clip_smooth_ema": case("mlp", ADAMW, clip_norm=0.3, label_smoothing=0.1, ema_decay=0.95),
    "mlp_adamw_microbatches": case("mlp", ADAMW, microbatches=[4, 4, 2], clip_norm=0.5),
    "mlp_sgd_fp16": case("mlp", {**SGD, "momentum": 0.9}, precision="fp16", microbatches=[4, 4, 2], initial_scale=2.0**34,
                         growth_interval=8),
    "cnn_sgd_momentum": case("cnn", {**SGD, "lr": 0.02, "momentum": 0.9}),
    "cnn_sgd_nesterov_decay": case("cnn", {**SGD, "lr": 0.02, "momentum": 0.9, "nesterov": True, "weight_decay": 0.005}),
    "cnn_sgd_averaged": case("cnn", {**SGD, "lr": 0.02, "momentum": 0.9}, ema_decay=0.9, statistics_batches=[16, 16, 8]),
    "cnn_adamw": case("cnn", ADAMW),
    "transformer_sgd_momentum": case("transformer", {**SGD, "momentum": 0.9}, batch=6, microbatches=[6]),
    "transformer_adamw": case("transformer", ADAMW, batch=6, microbatches=[6], clip_norm=1.0),
}


def build_host(name):
    host, sample = HOSTS[name]
    classes = sample["num_classes"]
    if name == "linear":
        return Linear(sample["features"], classes)
    if name == "mlp":
        return Mlp(sample["features"], host["hidden"], classes)
    if name == "cnn":
        return Cnn(sample["channels"], host["blocks"], host["base_channels"], host["kernel"], host["pool_layers"], classes)
    return Transformer(classes, sample["context"], host["embedding"], host["heads"], host["layers"])


def make_samples(name):
    _, sample = HOSTS[name]
    classes = sample["num_classes"]
    if sample["kind"] == "tokens":
        text = torch.randint(classes, (24, sample["context"] + 1))
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()
    shape = [sample["features"]] if sample["kind"] == "features" else [sample[k] for k in ("channels", "height", "width")]
    targets = torch.arange(40) * 3 % classes
    inputs = torch.randn([40, *shape])
    return inputs + torch.randn([classes, *shape])[targets], targets


def build_optimizer(settings, parameters):
    if settings["kind"] == "sgd":
        return torch.optim.SGD(parameters, lr=settings["lr"], momentum=settings["momentum"],
                               nesterov=settings["nesterov"], weight_decay=settings["weight_decay"], foreach=False)
    return torch.optim.AdamW(parameters, lr=settings["lr"], betas=(settings["beta1"], settings["beta2"]),
                             eps=settings["eps"], weight_decay=settings["weight_decay"], foreach=False)


def tensors_of(model):
    return {f"host.{name}": value.detach().clone() for name, value in model.state_dict().items()}


def averaged(model, average, decay):
    with torch.no_grad():
        for shadow, value in zip(average.parameters(), model.parameters()):
            shadow.lerp_(value, 1 - decay)


def train(model, spec, inputs, targets):
    """The obvious loop: what a user of PyTorch writes by hand."""
    optimizer = build_optimizer(spec["optimizer"], model.parameters())
    fp16 = spec["precision"] == "fp16"
    scaler = torch.amp.GradScaler("cpu", init_scale=spec.get("initial_scale", 65536.0),
                                  growth_interval=spec.get("growth_interval", 2000), enabled=fp16)
    average = copy.deepcopy(model)
    losses, scales = [], []
    for step in range(spec["steps"]):
        chosen = (step * spec["batch"] + torch.arange(spec["batch"])) % len(inputs)
        total, begin = 0.0, 0
        optimizer.zero_grad()
        for size in spec["microbatches"]:
            part = chosen[begin:begin + size]
            begin += size
            with torch.autocast("cpu", torch.float16, enabled=fp16):
                logits = model(inputs[part])
            logits, wanted = logits.float().flatten(0, -2), targets[part].flatten()
            loss = F.cross_entropy(logits, wanted, label_smoothing=spec["label_smoothing"]) * (size / spec["batch"])
            scaler.scale(loss).backward()
            total += loss.item()
        scaler.unscale_(optimizer)
        if spec["clip_norm"] > 0:
            nn.utils.clip_grad_norm_(model.parameters(), spec["clip_norm"])
        scaler.step(optimizer)
        scaler.update()
        if spec["ema_decay"] > 0:
            averaged(model, average, spec["ema_decay"])
        losses.append(total)
        scales.append(scaler.get_scale())
    return losses, scales, average


def record(name):
    spec = CASES[name]
    torch.manual_seed(sum(name.encode()))
    model = build_host(spec["host"]).train()
    inputs, targets = make_samples(spec["host"])
    out = {f"initial.{k}": v for k, v in tensors_of(model).items()}
    losses, scales, average = train(model, spec, inputs, targets)
    out.update({f"final.{k}": v for k, v in tensors_of(model).items()})
    if spec["ema_decay"] > 0:
        out.update({f"average.host.{k}": v.detach().clone() for k, v in average.named_parameters()})
    if "statistics_batches" in spec:
        torch.optim.swa_utils.update_bn(inputs.split(spec["statistics_batches"]), average)
        out.update({f"average.host.{k}": v.clone() for k, v in average.named_buffers() if ".running_" in k})
    out.update(inputs=inputs, targets=targets, loss=torch.tensor(losses, dtype=torch.float64),
               scale=torch.tensor(scales, dtype=torch.float64))
    host, sample = HOSTS[spec["host"]]
    metadata = {"case": json.dumps({**spec, "host": host, "sample": sample}), "torch": torch.__version__,
                "command": "scripts/record_parity.py"}
    path = FOLDER / f"{name}.safetensors"
    save_file(out, path, metadata)
    print(f"{path.name}: {path.stat().st_size} bytes, loss {losses[0]:.4f} -> {losses[-1]:.4f}, scale {scales[-1]:g}")


def main():
    torch.set_num_threads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or CASES:
        record(name)


if __name__ == "__main__":
    main()
