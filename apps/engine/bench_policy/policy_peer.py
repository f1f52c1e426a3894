"""The policy network in PyTorch Geometric: the yardstick of `esper bench --scenario policy --peer python`.

    policy_peer.py PACKAGES     the folder that scripts/bootstrap --parity installs to

Reads one JSON object a line from standard input, answers each with one on the descriptor that was standard output.
  {"do": "open", "tensors": FILE, "threads": N, "compile": BOOL} -> {"torch_geometric": VERSION}
  {"do": "graph", "graph": I}                                    -> {"warmup_ms": T, "answer": [...]}
  {"do": "run", "steps": K}: so many calls with that graph       -> {"us": [...]}
or {"error": TEXT}. FILE is a safetensors file: "weight.NAME", and of each graph "graph.I.nodes.TYPE" and
"graph.I.edges.RELATION.index" and ".attributes".
"""
import ctypes
import json
import os
import pathlib
import signal
import sys
import time
import warnings

answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # what libraries print goes to the log
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: no longer than Esper itself
warnings.filterwarnings("ignore")
sys.dont_write_bytecode = True
sys.path += [sys.argv[1], str(pathlib.Path(__file__).parent)]

# The order in which answers are compared.
HEADS = ["value", "policy_logits", "policy_params", "blending_logits", "schedule", "risk_logits", "breaker_logits",
         "seed_scores", "blueprint_scores"]


class Peer:
    def __init__(self, request):
        import torch
        from safetensors.torch import load_file
        try:
            from policy_network import FEATURES, RELATIONS, Network
        except ImportError as error:
            raise RuntimeError(f"{error}; PyTorch Geometric is installed by scripts/bootstrap --parity") from error
        self.torch, self.features, self.relations = torch, FEATURES, RELATIONS
        torch.set_num_threads(request["threads"])
        self.tensors = load_file(request["tensors"])
        self.network = Network().eval()
        prefix = "weight."
        weights = {name.removeprefix(prefix): t for name, t in self.tensors.items() if name.startswith(prefix)}
        self.network.load_state_dict(weights, strict=True)
        # Every graph gets code for its own shapes: the fastest that torch.compile has.
        self.forward = torch.compile(self.network, dynamic=False) if request["compile"] else self.network
        self.graph = None

    def open_graph(self, number):
        prefix = f"graph.{number}."
        nodes = {kind: self.tensors[f"{prefix}nodes.{kind}"] for kind in self.features}
        edges, attributes = {}, {}
        for relation in self.relations:
            name = f"{prefix}edges.{'___'.join(relation)}"
            edges[relation] = self.tensors[name + ".index"].long()
            attributes[relation] = self.tensors[name + ".attributes"]
        self.graph = (nodes, edges, attributes)
        begin = time.perf_counter()
        for _ in range(3):
            heads = self.call()
        warmup_ms = (time.perf_counter() - begin) * 1e3
        return {"warmup_ms": warmup_ms, "answer": [x for head in HEADS for x in heads[head].flatten().tolist()]}

    def call(self):
        with self.torch.inference_mode():
            return self.forward(*self.graph)

    def run(self, calls):
        clock, out = time.perf_counter, []
        before = clock()
        for _ in range(calls):
            self.call()
            after = clock()
            out.append((after - before) * 1e6)
            before = after
        return {"us": out}


def version_of(module):
    return getattr(sys.modules.get(module), "__version__", "unknown")


def main():
    peer = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "open":
                peer = Peer(request)
                answer = {"torch_geometric": version_of("torch_geometric")}
            elif request["do"] == "graph":
                answer = peer.open_graph(request["graph"])
            else:
                answer = peer.run(request["steps"])
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        answers.write(json.dumps(answer) + "\n")


main()
