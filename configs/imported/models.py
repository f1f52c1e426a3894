"""PyTorch models for measurements of imported networks (docs/bench.md). Cnn and Transformer are Esper's built-in hosts of
the scenarios of those names, layer for layer; the others are what users bring."""

import torch
from torch import nn
from torch.nn import functional as F


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*(
            nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                          nn.MaxPool2d(2)) for inputs, outputs in ((1, 16), (16, 32))))
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.blocks(x).mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, width, heads, dropout, is_causal):
        super().__init__()
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.dropout, self.is_causal = heads, dropout, is_causal

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (part.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.qkv(x).split(width, 2))
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=self.is_causal)
        return self.proj(y.transpose(1, 2).reshape(batch, tokens, width))


class Layer(nn.Module):
    def __init__(self, width, heads, dropout=0.0, is_causal=False):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout, is_causal)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)))))


class Transformer(nn.Module):
    """A decoder whose head is the table of embeddings."""

    def __init__(self, layers=2, width=64, heads=4, context=64, dropout=0.1, vocabulary=65):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(width, heads, dropout, is_causal=True) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens):
        x = self.dropout(self.tokens(tokens) + self.positions.weight[:tokens.shape[1]])
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.norm(x), self.tokens.weight)


class Gpt6(Transformer):
    """Six layers, as small GPTs for characters have."""

    def __init__(self):
        super().__init__(layers=6, width=384, heads=6, context=64, dropout=0.0)


class VitTiny(nn.Module):
    """ViT-Ti of Touvron et al. 2021 (12 layers, width 192, 3 heads), with patches of 4 x 4 for images of 32 x 32."""

    def __init__(self, num_classes=10, width=192, layers=12, heads=3):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn(1, 65, width))
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, num_classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


def conv_norm(inputs, outputs, kernel, stride):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs))


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first, self.second = conv_norm(inputs, outputs, 3, stride), conv_norm(outputs, outputs, 3, 1)
        is_same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if is_same else conv_norm(inputs, outputs, 1, stride)

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))


class ResNet18(nn.Module):
    """He et al. 2016, for images of 32 x 32: a first convolution of 3 x 3 and no pooling behind it."""

    def __init__(self, num_classes=10, width=64):
        super().__init__()
        self.stem = conv_norm(3, width, 3, 1)
        widths, blocks = [width, width, 2 * width, 4 * width, 8 * width], []
        for i in range(4):
            blocks += [BasicBlock(widths[i], widths[i + 1], 1 if i == 0 else 2),
                       BasicBlock(widths[i + 1], widths[i + 1], 1)]
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(8 * width, num_classes)

    def forward(self, x):
        return self.head(self.blocks(F.relu(self.stem(x))).mean((2, 3)))
