"""The training that Esper runs, in Python: the yardstick of `esper bench --peer python`.

Reads one JSON object a line from standard input, answers each with one on the descriptor that was standard output.
  {"do": "open", "workload": {...}, "tensors": FILE, "check_steps": N}
      -> {"parameters": N, "losses": [...], "settings": {...}}
  {"do": "python_eager"}, {"do": "python_compiled"} or {"do": "python_max_autotune"}
      -> {"warmup_ms": T, "optimizer": NAME}
  {"do": "run", "steps": K}
      -> {"us": [...]}
  {"do": "reference", "report": [STEP, ...], "parameters": [NAME, ...], "file": FILE}
      -> {"losses": [...]}: training in float64; FILE has all parameters as float64, at the start and after each STEP
or {"error": TEXT}.
"""
import contextlib
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
COMPILERS_GRAPHS, OWN_GRAPH = "CUDA graphs of torch.compile", "one CUDA graph of the whole step"


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


def apply_settings(settings):
    """The run's settings, as Esper applies them to its own process."""
    torch.set_num_threads(settings["threads"])
    torch.use_deterministic_algorithms(settings["deterministic"])
    torch.utils.deterministic.fill_uninitialized_memory = False
    if "tf32_matmul" not in settings:
        return
    torch.backends.cuda.matmul.allow_tf32 = settings["tf32_matmul"]
    torch.backends.cudnn.allow_tf32 = settings["tf32_cudnn"]
    torch.backends.cudnn.benchmark = settings["cudnn_benchmark"]
    torch.backends.cudnn.deterministic = settings["cudnn_deterministic"]
    if settings["cublas_workspace"] is not None:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = settings["cublas_workspace"]


@contextlib.contextmanager
def choices_by_timing():
    """While it lasts Inductor times the kernels that it chooses from, as max-autotune is there to do.
    torch.use_deterministic_algorithms takes that away, too, and Dynamo calls it after each function that it compiles."""
    import torch._inductor.config as inductor

    def set_eager_alone(mode, *, warn_only=False):
        torch._C._set_deterministic_algorithms(mode, warn_only=warn_only)
    whole, torch.use_deterministic_algorithms = torch.use_deterministic_algorithms, set_eager_alone
    try:
        with inductor.patch(deterministic=False, write_are_deterministic_algorithms_enabled=False):
            yield
            if inductor.deterministic:
                raise RuntimeError("Inductor did not time its choices")
    finally:
        torch.use_deterministic_algorithms = whole


def settings_now(workload):
    """What is in force, as torch reports it."""
    now = {"precision": workload["settings"]["precision"], "threads": torch.get_num_threads(),
           "deterministic": torch.are_deterministic_algorithms_enabled(), "loss_scaler": None}
    scaler = make_scaler(workload)
    if scaler.is_enabled():
        now["loss_scaler"] = {"init_scale": scaler.get_scale(), "growth_factor": scaler.get_growth_factor(),
                              "backoff_factor": scaler.get_backoff_factor(),
                              "growth_interval": scaler.get_growth_interval()}
    if on_cuda(workload):
        now |= {"tf32_matmul": torch.backends.cuda.matmul.allow_tf32, "tf32_cudnn": torch.backends.cudnn.allow_tf32,
                "cudnn_benchmark": torch.backends.cudnn.benchmark,
                "cudnn_deterministic": torch.backends.cudnn.deterministic,
                "cublas_workspace": os.environ.get("CUBLAS_WORKSPACE_CONFIG")}
    return now


def on_cuda(workload):
    return workload["device"].startswith("cuda")


def make_scaler(workload):
    """Disabled, it leaves everything as it is."""
    policy = workload["settings"]["loss_scaler"]
    kind = workload["device"].split(":")[0]
    if policy is None:
        return torch.amp.GradScaler(kind, enabled=False)
    return torch.amp.GradScaler(kind, init_scale=policy["init_scale"], growth_factor=policy["growth_factor"],
                                backoff_factor=policy["backoff_factor"], growth_interval=policy["growth_interval"])


def make_optimizer(workload, parameters, flavour, captured):
    optimizer = workload["training"]["optimizer"]
    how = {"fused": {"fused": True}, "foreach": {"foreach": True}, "for-loop": {"foreach": False}}[flavour]
    if optimizer["kind"] == "adamw":
        how["capturable"] = captured  # SGD has nothing that a captured step could not keep
        return torch.optim.AdamW(parameters, lr=optimizer["lr"], betas=(optimizer["beta1"], optimizer["beta2"]),
                                 eps=optimizer["eps"], weight_decay=optimizer["weight_decay"], **how)
    return torch.optim.SGD(parameters, lr=optimizer["lr"], momentum=optimizer["momentum"],
                           weight_decay=optimizer["weight_decay"], nesterov=optimizer["nesterov"], **how)


class Trainer:
    """A model at the run's start with its optimizer. step(microbatches) is what gets timed."""

    def __init__(self, workload, start, flavour, dropout, dtype=torch.float32, captured=False):
        device, settings, training = workload["device"], workload["settings"], workload["training"]
        self.model = build(workload, dropout).to(device, dtype)
        state = {name.removeprefix("host."): tensor for name, tensor in start.items()}
        missing, unknown = self.model.load_state_dict(state, strict=False)
        tied = set(self.model.state_dict()) - {name for name, _ in self.model.named_parameters()}
        if unknown or set(missing) - tied:
            raise ValueError(f"its tensors differ: {missing} {unknown}"[:200])
        self.parameters = list(self.model.parameters())
        self.optimizer = make_optimizer(workload, self.parameters, flavour, captured)
        self.scaler = make_scaler(workload)
        self.clip, self.smoothing, self.dtype = training["clip_norm"], training["label_smoothing"], dtype
        self.accumulation = workload["accumulation"]
        self.autocast = {"device_type": device.split(":")[0], "dtype": getattr(torch, settings["precision"]),
                         "enabled": settings["precision"] != "float32"}
        self.uses_compilers_graphs = False

    def loss_of(self, inputs, targets):
        """A microbatch's part of the step's loss."""
        with torch.autocast(**self.autocast):
            logits = self.model(inputs)
        loss = F.cross_entropy(logits.flatten(0, -2).to(self.dtype), targets.flatten(),
                               label_smoothing=self.smoothing)
        return loss if self.accumulation == 1 else loss / self.accumulation

    def clip_and_update(self):
        if self.clip > 0:
            nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()

    def scaled_update(self):
        if self.clip > 0:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def step(self, microbatches):
        """Returns the parts of the loss. Those of a step in the compiler's graphs are gone with the next step."""
        if self.uses_compilers_graphs:
            torch.compiler.cudagraph_mark_step_begin()
        self.optimizer.zero_grad(set_to_none=True)
        losses = []
        for inputs, targets in microbatches:
            loss = self.loss_of(inputs, targets)
            self.scaler.scale(loss).backward()
            losses.append(loss.detach())
        if self.scaler.is_enabled():
            self.scaled_update()
        else:
            self.clip_and_update()
        return losses

    def compile(self, mode):
        """Forward with loss (and so the backward), and the update without a scaler, which torch.compile does not take.
        The two apart: it leaves a frame with a backward in a loop uncompiled."""
        on_gpu = self.autocast["device_type"] == "cuda"
        self.uses_compilers_graphs = on_gpu and mode in ("reduce-overhead", "max-autotune")
        self.loss_of = torch.compile(self.loss_of, mode=mode)
        self.clip_and_update = torch.compile(self.clip_and_update, mode=mode)


class CapturedStep:
    """A trainer's whole step as one CUDA graph, into whose inputs each batch is copied."""

    WARMUP_STEPS = 3

    def __init__(self, trainer, example):
        self.inputs = [tuple(tensor.clone() for tensor in part) for part in example]
        self.trainer, self.graph, side = trainer, torch.cuda.CUDAGraph(), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(self.WARMUP_STEPS):
                trainer.step(self.inputs)
        torch.cuda.current_stream().wait_stream(side)
        trainer.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph):
            trainer.step(self.inputs)

    def step(self, microbatches):
        for held, given in zip(self.inputs, microbatches):
            for target, source in zip(held, given):
                target.copy_(source, non_blocking=True)
        self.graph.replay()


def in_float64(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def append_parameters(file, parameters):
    flat = torch.cat([parameter.detach().flatten() for parameter in parameters]).cpu()
    file.write(ctypes.string_at(flat.data_ptr(), flat.nbytes))


class Peer:
    def __init__(self, request):
        self.workload = request["workload"]
        apply_settings(self.workload["settings"])
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
        if on_cuda(self.workload):
            torch.cuda.synchronize()

    def losses(self, number):
        if self.workload["host"]["kind"] == "exported" and drops_out(build(self.workload, 0.0)):
            return None
        trainer = Trainer(self.workload, self.start, "for-loop", 0.0)
        return [sum(trainer.step(self.steps[i % len(self.steps)])).item() for i in range(number)]

    def reference(self, request):
        """The same training in float64, without dropout."""
        trainer = Trainer(self.workload, self.start, "for-loop", 0.0, dtype=torch.float64)
        named, losses = dict(trainer.model.named_parameters()), []
        ordered = [named[name.removeprefix("host.")] for name in request["parameters"]]
        with open(request["file"], "wb") as file:
            append_parameters(file, ordered)
            for number in range(1, max(request["report"]) + 1):
                microbatches = self.steps[(number - 1) % len(self.steps)]
                losses.append(sum(trainer.step([(in_float64(x), y) for x, y in microbatches])).item())
                if number in request["report"]:
                    append_parameters(file, ordered)
        return losses

    def run(self, number, trial=None):
        step = trial or self.row
        steps, out, clock = self.steps, [], time.perf_counter
        chunk = 10 if on_cuda(self.workload) else 1
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

    def trainer(self, flavour, captured=False):
        return Trainer(self.workload, self.start, flavour, self.workload["host"]["dropout"], captured=captured)

    def best_eager(self):
        """Which of torch's three optimizers is fastest here is measured, twice in turn."""
        speeds = {}
        for flavour in ("fused", "foreach", "for-loop") * 2:
            speed = self.speed(self.trainer(flavour).step)
            speeds[flavour] = min(speeds.get(flavour, speed), speed)
        best, begin = min(speeds, key=speeds.get), time.perf_counter()
        self.row = self.trainer(best).step
        self.run(1)
        return {"warmup_ms": (time.perf_counter() - begin) * 1e3, "optimizer": best}

    def compiled(self, flavour):
        trainer = self.trainer(flavour)
        trainer.compile(self.workload["compile_mode"])
        return trainer.step

    def tuned(self, flavour, graphs):
        trainer = self.trainer(flavour, captured=True)
        if graphs == COMPILERS_GRAPHS:
            trainer.compile("max-autotune")
            return trainer.step
        trainer.compile("max-autotune-no-cudagraphs")
        return CapturedStep(trainer, self.steps[0]).step

    def compiled_flavours(self):
        """The for-loop is never faster than foreach here. With a scaler only the fused one reads nothing back."""
        return ("fused",) if make_scaler(self.workload).is_enabled() else ("foreach", "fused")

    def best_compiled(self):
        tunes = self.workload["compile_mode"].startswith("max-autotune")
        with choices_by_timing() if tunes else contextlib.nullcontext():
            return self.best_of({flavour: lambda flavour=flavour: self.compiled(flavour)
                                 for flavour in self.compiled_flavours()})

    def best_tuned(self):
        with choices_by_timing():
            return self.best_of({f"{flavour}, {graphs}": lambda flavour=flavour, graphs=graphs: self.tuned(flavour, graphs)
                                 for graphs in (COMPILERS_GRAPHS, OWN_GRAPH) for flavour in self.compiled_flavours()})

    def prepare(self, make):
        """A step that is ready to be timed, and what that took, in ms."""
        begin = time.perf_counter()
        torch._dynamo.reset()  # also spoils every trial before
        step = make()
        self.run(3, step)
        return step, (time.perf_counter() - begin) * 1e3

    def best_of(self, ways):
        """Of the ways that torch.compile takes, the one with the faster step."""
        speeds, took, problem = {}, {}, None
        for name, make in ways.items():
            try:
                step, took[name] = self.prepare(make)
                speeds[name] = self.speed(step)
            except Exception as error:
                print(name, error, file=sys.stderr)
                problem = error
        if not speeds:
            raise problem
        best = min(speeds, key=speeds.get)
        self.row, _ = self.prepare(ways[best])
        return {"warmup_ms": took[best], "optimizer": best}


def answer_to(request, peer):
    if request["do"] == "open":
        return {"parameters": sum(t.numel() for t in build(peer.workload, 0.0).parameters()),
                "losses": peer.losses(request["check_steps"]), "settings": settings_now(peer.workload)}
    if request["do"] == "python_eager":
        return peer.best_eager()
    if request["do"] == "python_compiled":
        return peer.best_compiled()
    if request["do"] == "python_max_autotune":
        return peer.best_tuned()
    if request["do"] == "reference":
        return {"losses": peer.reference(request)}
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
