"""The policy network in PyTorch Geometric: what lib/tamiyo/network/unfolded_network.cpp computes, with the same names
of tensors. For scripts/record_tamiyo_parity.py, and inside the binary for
`esper bench --scenario policy --peer python`."""
import torch.nn.functional as F
from torch import nn
from torch_geometric.nn import GATConv, HeteroConv, SAGEConv

FEATURES = {"global": 16, "seed": 14, "blueprint": 14, "layer": 12, "activation": 8, "parameter": 10}
RELATIONS = [
    ("global", "influences", "seed"), ("seed", "reports", "global"), ("global", "annotates", "blueprint"),
    ("blueprint", "monitored_by", "global"), ("seed", "peer", "seed"), ("global", "operates", "layer"),
    ("layer", "feedback", "global"), ("layer", "activates", "activation"), ("activation", "affects", "layer"),
    ("activation", "configures", "parameter"), ("parameter", "modulates", "activation"), ("seed", "allowed", "parameter"),
    ("parameter", "associated", "seed"), ("blueprint", "composes", "layer"), ("layer", "belongs_to", "blueprint"),
    ("blueprint", "energizes", "activation"), ("parameter", "targets", "blueprint"), ("layer", "connects", "layer"),
    ("seed", "monitors", "layer"), ("layer", "monitored_by", "seed"), ("layer", "feeds", "activation"),
]  # fmt: skip


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoders = nn.ModuleDict(
            {kind: nn.Sequential(nn.Linear(n, 256), nn.GELU(), nn.LayerNorm(256)) for kind, n in FEATURES.items()})
        sage = [HeteroConv({r: SAGEConv((256, 256), 256) for r in RELATIONS}, aggr="mean") for _ in range(2)]
        gat = [HeteroConv({r: GATConv((n, n), 128, heads=4, concat=False, add_self_loops=False, edge_dim=3)
                           for r in RELATIONS}, aggr="mean") for n in (256, 128)]
        self.convs = nn.ModuleList(sage + gat)
        self.dropout = nn.Dropout(0.2)
        self.policy_logits = nn.Linear(128, 32)
        self.policy_params = nn.Sequential(nn.Linear(128, 64), nn.GELU(), nn.Linear(64, 4), nn.Tanh())
        self.blending_logits = nn.Linear(128, 3)
        self.risk_logits = nn.Linear(128, 5)
        self.value = nn.Linear(128, 1)
        self.schedule_params = nn.Sequential(nn.Linear(128, 64), nn.GELU(), nn.Linear(64, 2), nn.Tanh())
        self.breaker_logits = nn.Linear(128, 2)
        self.seed_scores = nn.Linear(128, 1)
        self.blueprint_scores = nn.Linear(128, 1)

    def layers(self, x, edges, attributes):
        """The nodes after the encoders, and after each layer."""
        x = {kind: self.encoders[kind](x[kind]) for kind in FEATURES}
        yield x
        for conv in self.convs:
            of_edges = dict(edge_attr_dict=attributes) if isinstance(conv.convs[RELATIONS[0]], GATConv) else {}
            y = conv(x, edges, **of_edges)
            before, x = x, {}
            for kind in FEATURES:
                x[kind] = F.gelu(y[kind])
                if x[kind].shape == before[kind].shape:
                    x[kind] = x[kind] + before[kind]
                x[kind] = self.dropout(x[kind])
            yield x

    def forward(self, x, edges, attributes):
        *_, x = self.layers(x, edges, attributes)
        return self.heads(x)

    def heads(self, x):
        graph = x["global"].mean(0)
        schedule = (self.schedule_params(graph) + 1) / 2
        return {
            "policy_logits": self.policy_logits(graph),
            "policy_params": self.policy_params(graph),
            "blending_logits": self.blending_logits(graph),
            "risk_logits": self.risk_logits(graph),
            "value": self.value(graph),
            "schedule": schedule.sort().values,
            "breaker_logits": self.breaker_logits(graph),
            "seed_scores": self.seed_scores(x["seed"]).flatten(),
            "blueprint_scores": self.blueprint_scores(x["blueprint"]).flatten(),
        }
