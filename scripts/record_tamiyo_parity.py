#!/usr/bin/env python3
"""Writes baselines/parity/tamiyo_*.safetensors: what PyTorch Geometric's network answers for several graphs, for
tests/parity/tamiyo_parity_test.cpp.

    scripts/bootstrap --parity                  # PyTorch Geometric, beside the private environment
    .esper/python/bin/python scripts/record_tamiyo_parity.py [CASE ...]

The weights (55 MB) are not recorded: each number is a function of its tensor's name and its place in it, which the test
computes as well (see `weight`). They leave no tensor at zero, heads included, since zeros hide errors.

Each case is one safetensors file:
  graph.nodes.TYPE                                   [nodes, features] float32
  graph.edges.RELATION.index, .attributes            [2, edges] int32 (source, target), [edges, 3] float32
  encoder.TYPE, layer0.TYPE .. layer3.TYPE           [nodes, width]: after the encoders, and after each layer
  output.HEAD                                        what the heads answer
  metadata["made_with"]                              JSON: the command, versions
Every graph names all node types and relations; what is missing has no rows.
"""
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / ".esper" / "parity"), str(ROOT / "apps" / "engine" / "bench_policy")]
sys.dont_write_bytecode = True

import numpy as np
import torch
from safetensors.torch import save_file

try:
    import torch_geometric
    from policy_network import FEATURES, RELATIONS, Network
except ImportError as error:
    sys.exit(f"{error}; PyTorch Geometric is installed by: scripts/bootstrap --parity")

FOLDER = ROOT / "baselines" / "parity"
SEED = 14

# Nodes of each type, and for each relation the share of its possible edges; relations that `empty` accepts have none.
CASES = {
    "one_seed": dict(nodes=(1, 1, 2, 2, 1, 1), density=0.7),
    "many_seeds": dict(nodes=(1, 8, 8, 9, 2, 2), density=0.4),
    "hundred": dict(nodes=(1, 24, 24, 36, 8, 7), density=0.2),
    "missing_types": dict(nodes=(1, 0, 3, 4, 0, 2), density=0.6),
    "empty_relations": dict(nodes=(1, 3, 4, 4, 2, 1), density=0.6, empty=lambda i: i % 2 == 0),
    "no_edges": dict(nodes=(1, 2, 2, 2, 1, 1), density=0.0),
}


def mix64(x):
    """SplitMix64, as lib/base/hash.h."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return np.uint64(value)


def weight(name, shape):
    """Element i: 24 bits of mix64(key ^ mix64(i)) as a number in [-1, 1), times sqrt(3 / last dimension); layer norms'
    weights 1 more. Every operation is exact or rounds once."""
    key = mix64(mix64(np.array(SEED, np.uint64)) ^ fnv1a(name))
    bits = mix64(key ^ mix64(np.arange(math.prod(shape), dtype=np.uint64))) >> np.uint64(40)
    unit = bits.astype(np.float32) * np.float32(2.0**-23) - np.float32(1)
    values = unit * np.float32(math.sqrt(3 / shape[-1]))
    if name.startswith("encoders.") and name.endswith(".2.weight"):
        values = values + np.float32(1)
    return torch.from_numpy(values).view(shape)


def build_network():
    network = Network().eval()
    network.load_state_dict({name: weight(name, value.shape) for name, value in network.state_dict().items()})
    return network


def make_graph(nodes, density, empty=lambda i: False):
    counts = dict(zip(FEATURES, nodes))
    x = {kind: torch.randn(counts[kind], FEATURES[kind]) for kind in FEATURES}
    edges, attributes = {}, {}
    for i, (source, _, target) in enumerate(RELATIONS):
        chosen = (torch.rand(counts[source], counts[target]) < density).nonzero()
        chosen = chosen[torch.randperm(len(chosen))] if not empty(i) else chosen[:0]
        edges[RELATIONS[i]] = chosen.T.contiguous()
        attributes[RELATIONS[i]] = torch.rand(len(chosen), 3) * 2 - 0.5
    return x, edges, attributes


def record(name, network):
    torch.manual_seed(sum(name.encode()))
    x, edges, attributes = make_graph(**CASES[name])
    with torch.inference_mode():
        layers = list(network.layers(x, edges, attributes))
        heads = network.heads(layers[-1])
    out = {f"graph.nodes.{kind}": x[kind] for kind in FEATURES}
    for relation in RELATIONS:
        text = "___".join(relation)
        out[f"graph.edges.{text}.index"] = edges[relation].to(torch.int32)
        out[f"graph.edges.{text}.attributes"] = attributes[relation]
    for stage, values in zip(("encoder", "layer0", "layer1", "layer2", "layer3"), layers):
        out.update({f"{stage}.{kind}": values[kind] for kind in FEATURES})
    out.update({f"output.{head}": value for head, value in heads.items()})
    # One entry: the package writes several in any order.
    made_with = {"command": "scripts/record_tamiyo_parity.py", "torch": torch.__version__,
                 "torch_geometric": torch_geometric.__version__}
    path = FOLDER / f"tamiyo_{name}.safetensors"
    save_file({key: value.contiguous().clone() for key, value in out.items()}, path, {"made_with": json.dumps(made_with)})
    count = sum(len(edge[0]) for edge in edges.values())
    print(f"{path.name}: {path.stat().st_size} bytes, {sum(CASES[name]['nodes'])} nodes, {count} edges, "
          f"value {heads['value'].item():.4f}")


def main():
    torch.set_num_threads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    network = build_network()
    for name in sys.argv[1:] or CASES:
        record(name, network)


if __name__ == "__main__":
    main()
