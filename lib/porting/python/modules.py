# The modules that Esper grows, and the gates of its compositions, in PyTorch: as hosts.py, after it.
import math

import torch
from torch import nn
from torch.nn import functional as F

from hosts import CausalAttention


class Copies(nn.Module):
    """Copies of a block, one after the other."""

    def __init__(self, *blocks):
        super().__init__()
        for i, block in enumerate(blocks):
            self.add_module(f"copy{i}", block)
        self.count = len(blocks)

    def forward(self, x):
        for i in range(self.count):
            x = getattr(self, f"copy{i}")(x)
        return x


class LinearModule(nn.Linear):
    """x + W x + b over the channels."""

    def forward(self, x):
        return x + super().forward(x)


class Lora(nn.Module):
    """x + up(down(x)) over the channels. Hu et al. 2021, "LoRA"."""

    def __init__(self, channels, rank):
        super().__init__()
        self.down = nn.Linear(channels, rank, bias=False)
        self.up = nn.Linear(rank, channels, bias=False)

    def forward(self, x):
        return x + self.up(self.down(x))


class LayerNormMix(nn.Module):
    """x + tanh(scale) (LayerNorm(x) - x) over the channels."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.scale = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + torch.tanh(self.scale) * (self.norm(x) - x)


class GroupNormMix(nn.Module):
    """x + tanh(scale) (GroupNorm(x) - x)."""

    def __init__(self, channels, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        self.scale = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + torch.tanh(self.scale) * (self.norm(x) - x)


class ChannelAttention(nn.Module):
    """A factor for each channel of [B, C], or of [B, C, H, W] from its mean over the pixels.
    Hu, Shen and Sun 2018, "Squeeze-and-excitation networks"."""

    def __init__(self, channels, width):
        super().__init__()
        self.down = nn.Linear(channels, width)
        self.up = nn.Linear(width, channels)

    def forward(self, x):
        pooled = x.mean((2, 3)) if x.dim() == 4 else x
        factor = torch.sigmoid(self.up(F.relu(self.down(pooled))))
        return x * (factor[:, :, None, None] if x.dim() == 4 else factor)


class DenseMlp(nn.Module):
    """x + down(ReLU(up(x)))."""

    def __init__(self, channels, width):
        super().__init__()
        self.up = nn.Linear(channels, width)
        self.down = nn.Linear(width, channels)

    def forward(self, x):
        return x + self.down(F.relu(self.up(x)))


class GeluMlp(nn.Module):
    """x + down(GELU(up(x))), token by token."""

    def __init__(self, channels, width):
        super().__init__()
        self.up = nn.Linear(channels, width)
        self.down = nn.Linear(width, channels)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(x)))


class ConvLight(nn.Module):
    """x + ReLU(GroupNorm(3x3(x)))."""

    def __init__(self, channels, groups):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return x + F.relu(self.norm(self.conv(x)))


class ConvHeavy(nn.Module):
    """x + ReLU(GroupNorm(3x3(ReLU(GroupNorm(3x3(x))))))."""

    def __init__(self, channels, groups):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(groups, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return x + F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))


class ConvSmall(nn.Module):
    """x + 1x1(ReLU(GroupNorm(x)))."""

    def __init__(self, channels, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        self.conv = nn.Conv2d(channels, channels, 1, bias=False)

    def forward(self, x):
        return x + self.conv(F.relu(self.norm(x)))


class Pointwise(nn.Module):
    """x + 1x1(x)."""

    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 1, bias=False)

    def forward(self, x):
        return x + self.conv(x)


class Depthwise(nn.Module):
    """x + ReLU(GroupNorm(1x1(3x3 depthwise(x))))."""

    def __init__(self, channels, groups):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.pointwise = nn.Conv2d(channels, channels, 1, bias=False)
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return x + F.relu(self.norm(self.pointwise(self.depthwise(x))))


class Bottleneck(nn.Module):
    """x + GroupNorm(1x1(ReLU(3x3(ReLU(1x1(x))))))."""

    def __init__(self, channels, width, groups):
        super().__init__()
        self.down = nn.Conv2d(channels, width, 1, bias=False)
        self.conv = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.up = nn.Conv2d(width, channels, 1, bias=False)
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return x + self.norm(self.up(F.relu(self.conv(F.relu(self.down(x))))))


class AttentionModule(CausalAttention):
    """x + attention(x)."""

    def forward(self, x):
        return x + self.attend(x)


class FlexAttention(CausalAttention):
    """x + attention(x); the score of a token d back is lowered by softplus(slope) d, a slope for each head."""

    def __init__(self, channels, heads):
        super().__init__(channels, heads)
        self.slope = nn.Parameter(torch.zeros(heads))

    def forward(self, x):
        position = torch.arange(x.shape[1], device=x.device)
        distance = position[:, None] - position[None, :]
        bias = -F.softplus(self.slope)[:, None, None] * distance
        return x + self.attend(x, bias.masked_fill(distance < 0, -math.inf))


class LearnedGate(nn.Module):
    """How much of a module is heard: a factor for each sample and channel, from what comes into the slot."""

    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        if x.dim() != 4:
            return torch.sigmoid(self.weight * x + self.bias)
        pooled = x.mean((2, 3), keepdim=True)
        return torch.sigmoid(self.weight[:, None, None] * pooled + self.bias[:, None, None])


class ChannelGate(nn.Module):
    """How much of a module is heard: a number from 0 to 1 for each channel."""

    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))

    def forward(self, x):
        # The gradient ignores the clamp, so that a channel at either end can still move.
        gate = self.weight + (self.weight.clamp(0, 1) - self.weight).detach()
        return gate[:, None, None] if x.dim() == 4 else gate


def confidence(s):
    """How much of a module is heard, by how clearly its output s prefers one channel: a factor for each sample, and for
    each token of a sequence."""
    channels = 1 if s.dim() == 4 else -1
    s = s.detach()
    shares = torch.softmax(s.mean((2, 3), keepdim=True) if s.dim() == 4 else s, channels)
    if shares.shape[channels] == 1:
        return torch.sigmoid(4 * (shares - 0.2))
    top = shares.topk(2, channels).values
    return torch.sigmoid(4 * (top.narrow(channels, 0, 1) - top.narrow(channels, 1, 1) - 0.2))
