"""Networks of well-known kinds, small enough for a test. Each is what a user would write with torch.nn."""

import torch
import torch.nn.functional as F
from torch import nn


def conv_norm(inputs, outputs, kernel=3, stride=1, groups=1, **norm):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(outputs, **norm))


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = conv_norm(inputs, outputs, 1, stride)

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += identity
        return self.relu(y)


class ResNet18(nn.Module):
    """He et al. 2016, with torchvision's names and a first convolution for small images."""

    def __init__(self, num_classes=10, width=8):
        super().__init__()
        w = width
        stage = lambda i, o, stride: nn.Sequential(BasicBlock(i, o, stride), BasicBlock(o, o))  # noqa: E731
        self.conv1 = nn.Conv2d(3, w, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(w)
        self.relu = nn.ReLU(inplace=True)
        self.layer1, self.layer2 = stage(w, w, 1), stage(w, 2 * w, 2)
        self.layer3, self.layer4 = stage(2 * w, 4 * w, 2), stage(4 * w, 8 * w, 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * w, num_classes)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(channels, channels // 4, 1), nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x):
        scale = F.adaptive_avg_pool2d(x, 1)
        return F.hardsigmoid(self.fc2(F.relu(self.fc1(scale)))) * x


class InvertedResidual(nn.Module):
    def __init__(self, inputs, expanded, outputs, stride):
        super().__init__()
        norm = {"eps": 1e-3, "momentum": 0.01}  # as torchvision's
        self.block = nn.Sequential(conv_norm(inputs, expanded, 1, **norm), nn.Hardswish(),
                                   conv_norm(expanded, expanded, 5, stride, expanded, **norm), nn.Hardswish(),
                                   SqueezeExcite(expanded), conv_norm(expanded, outputs, 1, **norm))
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, x):
        y = self.block(x)
        return x + y if self.is_residual else y


class MobileNetV3(nn.Module):
    """Howard et al. 2019: its blocks, fewer of them."""

    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Sequential(*conv_norm(3, 8), nn.Hardswish()), InvertedResidual(8, 16, 8, 1),
                                      InvertedResidual(8, 24, 16, 2), InvertedResidual(16, 48, 16, 1))
        self.classifier = nn.Sequential(nn.Linear(16, 32), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(32, num_classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class ViT(nn.Module):
    """Dosovitskiy et al. 2021, out of PyTorch's own encoder layers."""

    def __init__(self, num_classes=10, width=32, layers=2):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn(1, 17, width))
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(width, 4, 2 * width, 0.1, "gelu", batch_first=True,
                                                                norm_first=True) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, num_classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.heads, self.drop = heads, nn.Dropout(0.1)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (part.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.qkv(self.ln1(x)).split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.proj(y.transpose(1, 2).contiguous().view(batch, tokens, width)))
        return x + self.drop(self.mlp(self.ln2(x)))


class Gpt(nn.Module):
    """Radford et al. 2019: blocks and a head that is the table of embeddings."""

    def __init__(self, vocabulary=40, width=32, heads=4, layers=3, context=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.h = nn.ModuleList([GptBlock(width, heads) for _ in range(layers)])
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.h:
            x = block(x)
        return self.head(self.ln(x))


class Lstm(nn.Module):
    def __init__(self, vocabulary=40, num_classes=5):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 12)
        self.lstm = nn.LSTM(12, 24, 2, batch_first=True, dropout=0.1)
        self.fc = nn.Linear(24, num_classes)

    def forward(self, tokens):
        y, _ = self.lstm(self.embedding(tokens))
        return self.fc(y[:, -1])


class UNet(nn.Module):
    """Ronneberger et al. 2015: its skip connections cross every place where it could be cut."""

    def __init__(self, classes=3, width=8):
        super().__init__()
        stage = lambda i, o: nn.Sequential(*conv_norm(i, o), nn.ReLU(inplace=True))  # noqa: E731
        w = width
        self.down1, self.down2, self.middle = stage(3, w), stage(w, 2 * w), stage(2 * w, 4 * w)
        self.up2, self.join2 = nn.ConvTranspose2d(4 * w, 2 * w, 2, 2), stage(4 * w, 2 * w)
        self.up1, self.join1 = nn.ConvTranspose2d(2 * w, w, 2, 2), stage(2 * w, w)
        self.out = nn.Conv2d(w, classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        y = self.middle(F.max_pool2d(b, 2))
        y = self.join2(torch.cat([self.up2(y), b], 1))
        y = self.join1(torch.cat([self.up1(y), a], 1))
        return self.out(y)


class GraphConvolution(nn.Module):
    """Kipf and Welling 2017, over a graph that does not change, its edges as a list."""

    def __init__(self, inputs, outputs, edges):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.register_buffer("source", edges[0])
        self.register_buffer("target", edges[1])

    def forward(self, x):  # [B, nodes, inputs]
        x = self.linear(x)
        return torch.zeros_like(x).index_add(1, self.target, x.index_select(1, self.source)) + x


class Gnn(nn.Module):
    def __init__(self, nodes=6, features=4, num_classes=3):
        super().__init__()
        ring = torch.arange(nodes)
        edges = torch.stack([torch.cat([ring, ring]), torch.cat([(ring + 1) % nodes, (ring - 1) % nodes])])
        self.nodes, self.features = nodes, features
        self.conv1, self.conv2 = GraphConvolution(features, 16, edges), GraphConvolution(16, 16, edges)
        self.head = nn.Linear(16, num_classes)

    def forward(self, x):
        x = x.view(x.shape[0], self.nodes, self.features)
        x = torch.relu(self.conv2(torch.relu(self.conv1(x))))
        return self.head(x.mean(1))


class InPlace(nn.Module):
    """Writes into a buffer, and into parts of what it computes, with and without gradients."""

    def __init__(self, features=24, width=16, num_classes=3):
        super().__init__()
        self.a, self.b = nn.Linear(features, width), nn.Linear(width, num_classes)
        self.register_buffer("average", torch.zeros(width))

    def forward(self, x):
        h = self.a(x)
        y = torch.relu(h - self.average)
        weights, doubled = torch.ones_like(y), torch.zeros_like(y)
        with torch.no_grad():
            weights[:, :8] = y[:, :8].abs()
            if self.training:
                self.average.mul_(0.9).add_(h.mean(0), alpha=0.1)
        doubled[:, :4] = 2 * y[:, :4]
        return self.b(y * weights + doubled)
