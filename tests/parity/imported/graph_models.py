"""A network of PyTorch Geometric's own layers. They stand beside the private environment: scripts/bootstrap --parity."""

import pathlib
import sys

import torch
from torch import nn

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / ".esper/parity"))
from torch_geometric.nn import GCNConv, GINConv, SAGEConv  # noqa: E402


class GeometricGnn(nn.Module):
    """Over a graph that does not change. Loops are edges of it: layers that add them make tensors whose sizes depend on
    what the edges are, which torch.export does not take as sizes."""

    def __init__(self, nodes=6, features=4, num_classes=3, width=16):
        super().__init__()
        ring = torch.arange(nodes)
        edges = torch.cat([torch.stack([ring, ring]), torch.stack([ring, (ring + 1) % nodes]),
                           torch.stack([(ring + 1) % nodes, ring])], 1)
        self.register_buffer("edges", edges)
        self.nodes, self.features = nodes, features
        self.convolutions = nn.ModuleList([
            GCNConv(features, width, add_self_loops=False), SAGEConv(width, width),
            GINConv(nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)))])
        self.head = nn.Linear(width, num_classes)

    def forward(self, x):
        x = x.view(x.shape[0], self.nodes, self.features)
        for convolution in self.convolutions:
            x = torch.relu(convolution(x, self.edges))
        return self.head(x.mean(1))
