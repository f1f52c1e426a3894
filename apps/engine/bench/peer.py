"""The training that Esper runs, in Python: the yardstick of `esper bench --peer python`.

Reads one JSON object a line from standard input, answers each with one on the descriptor that was standard output.
  {"do": "open", "workload": {...}, "tensors": FILE, "check_steps": N} -> {"parameters": N, "losses": [...]}
  {"do": "python_eager"} or {"do": "python_compiled"}                  -> {"warmup_ms": T, "optimizer": NAME}
  {"do": "run", "steps": K}                                            -> {"us": [...]}
or {"error": TEXT}.
"""
import ctypes
import importlib.util
import json
import os
import signal
import statistics
import struct
import sys
import time
import warnings

answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # what libraries print goes to the log
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: no longer than Esper itself
warnings.filterwarnings("ignore")

import torch
import torch.nn as nn
import torch.nn.functional as F

DTYPES = {"F32": torch.float32, "I64": torch.int64, "F64": torch.float64}
PILOT_S = 0.05


def read_tensors(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = bytearray(file.read())
    out = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(data[begin:end], dtype=DTYPES[entry["dtype"]])
        out[name] = flat.reshape(entry["shape"]).clone()
    return out


class Branch(nn.Module):
    """Children under the names of the host's tensors."""

    def __init__(self, **children):
        super().__init__()
        for name, child in children.items():
            self.add_module(name, child)


class Dense(nn.Module):
    def __init__(self, features, hidden, classes, dropout):
        super().__init__()
        self.depth, self.dropout, width = len(hidden), dropout, features
        for i, out in enumerate(hidden):
            self.add_module(f"block{i}", Branch(linear=nn.Linear(width, out)))
            width = out
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = x.flatten(1)
        for i in range(self.depth):
            x = F.relu(getattr(self, f"block{i}").linear(x))
            if self.dropout > 0:
                x = F.dropout(x, self.dropout)
        return self.head(x)


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(x + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))


class Convolutional(nn.Module):
    def __init__(self, channels, host, classes):
        super().__init__()
        self.blocks, self.pools, width = host["blocks"], host["pool_layers"], host["base_channels"]
        self.residual_blocks = host["residual_blocks"]
        for i in range(self.blocks):
            conv = nn.Conv2d(channels, width, host["kernel"], padding=host["kernel"] // 2, bias=False)
            residual = {f"residual{j}": Residual(width) for j in range(host["residual_blocks"])}
            self.add_module(f"block{i}", Branch(conv=conv, norm=nn.BatchNorm2d(width), **residual))
            channels, width = width, width * 2
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        for i in range(self.blocks):
            block = getattr(self, f"block{i}")
            x = F.relu(block.norm(block.conv(x)))
            if i < self.pools:
                x = F.max_pool2d(x, 2)
            for j in range(self.residual_blocks):
                x = getattr(block, f"residual{j}")(x)
        return self.head(x.mean((2, 3)))


class Layer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Branch(qkv=nn.Linear(width, 3 * width), proj=nn.Linear(width, width))
        self.mlp = Branch(up=nn.Linear(width, 4 * width), down=nn.Linear(4 * width, width))

    def drop(self, x):
        return F.dropout(x, self.dropout) if self.dropout > 0 else x

    def forward(self, x):
        b, t, width = x.shape
        parts = self.attention.qkv(self.norm1(x)).split(width, 2)
        q, k, v = (p.view(b, t, self.heads, width // self.heads).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout, is_causal=True)
        x = x + self.drop(self.attention.proj(y.transpose(1, 2).reshape(b, t, width)))
        return x + self.drop(self.mlp.down(F.gelu(self.mlp.up(self.norm2(x)))))


class Decoder(nn.Module):
    def __init__(self, host, context, vocabulary, dropout):
        super().__init__()
        width = host["embedding"]
        self.depth, self.dropout = host["layers"], dropout
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        for i in range(self.depth):
            self.add_module(f"layer{i}", Layer(width, host["heads"], dropout))
        self.norm = nn.LayerNorm(width)
        self.register_buffer("ids", torch.arange(context), persistent=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(self.ids[: tokens.shape[1]])
        if self.dropout > 0:
            x = F.dropout(x, self.dropout)
        for i in range(self.depth):
            x = getattr(self, f"layer{i}")(x)
        return F.linear(self.norm(x), self.tokens.weight)


def imported(place):
    """The model that was imported, as its own file makes it."""
    path, _, name = place.rpartition(":")
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("imported_model", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # torch.compile looks it up
    spec.loader.exec_module(module)
    model = getattr(module, name)
    return (model if isinstance(model, nn.Module) else model()).train()


def drops_out(model):
    return any(getattr(module, "p", 0) and "Dropout" in type(module).__name__ for module in model.modules())


def build(workload, dropout):
    host, sample = workload["host"], workload["sample"]
    if host["kind"] == "exported":
        return imported(workload["model"])
    kind, classes = host["kind"], sample["num_classes"]
    features = sample["features"] or sample["channels"] * sample["height"] * sample["width"]
    if kind == "linear":
        return Dense(features, [], classes, 0)
    if kind == "mlp":
        return Dense(features, host["hidden"], classes, dropout)
    if kind == "cnn":
        return Convolutional(sample["channels"], host, classes)
    return Decoder(host, sample["context"], classes, dropout)


def make_optimizer(workload, parameters, flavour):
    optimizer = workload["training"]["optimizer"]
    how = {"fused": {"fused": True}, "foreach": {"foreach": True}, "for-loop": {"foreach": False}}[flavour]
    if optimizer["kind"] == "adamw":
        return torch.optim.AdamW(parameters, lr=optimizer["lr"], betas=(optimizer["beta1"], optimizer["beta2"]),
                                 eps=optimizer["eps"], weight_decay=optimizer["weight_decay"], **how)
    return torch.optim.SGD(parameters, lr=optimizer["lr"], momentum=optimizer["momentum"],
                           weight_decay=optimizer["weight_decay"], nesterov=optimizer["nesterov"], **how)


class Trainer:
    """A model at the run's start with its optimizer. step(microbatches) is what gets timed or compiled."""

    def __init__(self, workload, start, flavour, dropout):
        device = workload["device"]
        self.model = build(workload, dropout).to(device)
        state = {name.removeprefix("host."): tensor for name, tensor in start.items()}
        missing, unknown = self.model.load_state_dict(state, strict=False)
        tied = set(self.model.state_dict()) - {name for name, _ in self.model.named_parameters()}
        if unknown or set(missing) - tied:
            raise ValueError(f"its tensors are others: {missing} {unknown}"[:200])
        self.parameters = list(self.model.parameters())
        self.optimizer = make_optimizer(workload, self.parameters, flavour)
        training = workload["training"]
        self.clip, self.smoothing = training["clip_norm"], training["label_smoothing"]
        self.autocast = {"device_type": device.split(":")[0], "dtype": getattr(torch, workload["autocast"]),
                         "enabled": workload["autocast"] != "float32"}

    def step(self, microbatches):
        self.optimizer.zero_grad(set_to_none=True)
        for inputs, targets in microbatches:
            with torch.autocast(**self.autocast):
                logits = self.model(inputs)
            loss = F.cross_entropy(logits.flatten(0, -2).float(), targets.flatten(), label_smoothing=self.smoothing)
            (loss / len(microbatches)).backward()
        if self.clip > 0:
            nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()
        return loss.detach()


class Peer:
    def __init__(self, request):
        self.workload = request["workload"]
        torch.set_num_threads(self.workload["threads"])
        torch.manual_seed(self.workload["seed"])
        tensors = read_tensors(request["tensors"])
        self.start = {n: t for n, t in tensors.items() if n.startswith("host.")}
        device = self.workload["device"]
        count = 1 + max(int(n.split(".")[1]) for n in tensors if n.startswith("step."))
        parts = range(self.workload["accumulation"])
        self.steps = [[(tensors[f"step.{i}.{k}.inputs"].to(device), tensors[f"step.{i}.{k}.targets"].to(device))
                       for k in parts] for i in range(count)]
        self.row, self.next = None, 0

    def sync(self):
        if self.workload["device"].startswith("cuda"):
            torch.cuda.synchronize()

    def losses(self, number):
        if self.workload["host"]["kind"] == "exported" and drops_out(build(self.workload, 0.0)):
            return None
        trainer = Trainer(self.workload, self.start, "for-loop", 0.0)
        return [trainer.step(self.steps[i % len(self.steps)]).item() for i in range(number)]

    def run(self, number, trial=None):
        _, step = trial or self.row
        steps, out, clock = self.steps, [], time.perf_counter
        chunk = 10 if self.workload["device"].startswith("cuda") else 1
        self.sync()
        before = clock()
        while number > 0:
            size = min(chunk, number)
            for _ in range(size):
                step(steps[self.next])
                self.next = (self.next + 1) % len(steps)
            if chunk > 1:
                torch.cuda.synchronize()
            after = clock()
            out.append((after - before) / size * 1e6)
            before = after
            number -= size
        return out

    def speed(self, trial):
        self.run(5, trial)
        until, times = time.perf_counter() + PILOT_S, []
        while time.perf_counter() < until:
            times += self.run(3, trial)
        return statistics.median(times)

    def trainer(self, flavour):
        return Trainer(self.workload, self.start, flavour, self.workload["host"]["dropout"])

    def best_eager(self):
        """Which of torch's three optimizers is fastest here is measured, twice in turn."""
        speeds, begin = {}, time.perf_counter()
        for flavour in ("fused", "foreach", "for-loop") * 2:
            trainer = self.trainer(flavour)
            speed = self.speed((trainer, trainer.step))
            speeds[flavour] = min(speeds.get(flavour, speed), speed)
        best, begin = min(speeds, key=speeds.get), time.perf_counter()
        trainer = self.trainer(best)
        self.row = (trainer, trainer.step)
        self.run(1)
        return {"warmup_ms": (time.perf_counter() - begin) * 1e3, "optimizer": best}

    def compiled(self, flavour):
        """A trial of the whole step under torch.compile, and how long it took to be ready, in ms."""
        trainer, begin = self.trainer(flavour), time.perf_counter()
        torch._dynamo.reset()  # also spoils every trial before
        trial = (trainer, torch.compile(trainer.step, mode=self.workload["compile_mode"]))
        self.run(3, trial)
        return trial, (time.perf_counter() - begin) * 1e3

    def best_compiled(self):
        """Of the optimizers that torch.compile takes, the one with the faster step."""
        speeds, took, problem = {}, {}, None
        for flavour in ("foreach", "fused", "for-loop"):
            if speeds and flavour == "for-loop":
                break
            try:
                trial, took[flavour] = self.compiled(flavour)
                speeds[flavour] = self.speed(trial)
            except Exception as error:
                print(flavour, error, file=sys.stderr)
                problem = error
        if not speeds:
            raise problem
        best = min(speeds, key=speeds.get)
        self.row, _ = self.compiled(best)
        return {"warmup_ms": took[best], "optimizer": best}


def answer_to(request, peer):
    if request["do"] == "open":
        return {"parameters": sum(t.numel() for t in build(peer.workload, 0.0).parameters()),
                "losses": peer.losses(request["check_steps"])}
    if request["do"] == "python_eager":
        return peer.best_eager()
    if request["do"] == "python_compiled":
        return peer.best_compiled()
    return {"us": peer.run(request["steps"])}


def main():
    peer = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            peer = Peer(request) if request["do"] == "open" else peer
            answer = answer_to(request, peer)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        answers.write(json.dumps(answer) + "\n")


main()
