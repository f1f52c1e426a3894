# Esper's hosts in PyTorch, each with the blocks after which modules may grow. An exported network gets the definitions
# that it needs: whole blocks of text that begin at the left margin. Shapes: B batch, C channels, H height, W width, T
# tokens.
import torch
from torch import nn
from torch.nn import functional as F


class DenseBlock(nn.Module):
    """[B, inputs] -> [B, units]. `further`: what more units of the block before add to the sum."""

    def __init__(self, inputs, units, dropout=0.0):
        super().__init__()
        self.linear = nn.Linear(inputs, units)
        self.dropout = dropout

    def forward(self, x, further=None):
        x = self.linear(x)
        if further is not None:
            x = x + further
        return F.dropout(F.relu(x), self.dropout, self.training)


class MoreDenseUnits(nn.Module):
    """More units of a dense block, and their outgoing weights `outlet`. While they are blended in, `alpha` is their
    share: what they have beyond the units of the block that they were copied from."""

    def __init__(self, inputs, units, outputs, alpha=None, dropout=0.0):
        super().__init__()
        self.linear = nn.Linear(inputs, units)
        self.outlet = nn.Linear(units, outputs, bias=False)
        self.alpha = alpha
        self.dropout = dropout

    def forward(self, x, units):
        new = F.dropout(F.relu(self.linear(x)), self.dropout, self.training)
        return new if self.alpha is None else self.alpha * (new - units[:, : new.shape[1]])


class ConvBlock(nn.Module):
    """[B, inputs, H, W] -> [B, channels, H, W], halved in height and width by a pool."""

    def __init__(self, inputs, channels, kernel, pool=False, residual_blocks=0):
        super().__init__()
        self.conv = nn.Conv2d(inputs, channels, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.pool = pool
        self.residual_blocks = residual_blocks
        for i in range(residual_blocks):
            self.add_module(f"residual{i}", ResidualBlock(channels))

    def forward(self, x, further=None):
        x = self.conv(x)
        if further is not None:
            x = x + further
        x = F.relu(self.norm(x))
        if self.pool:
            x = F.max_pool2d(x, 2)
        for i in range(self.residual_blocks):
            x = getattr(self, f"residual{i}")(x)
        return x


class MoreChannels(nn.Module):
    """More channels of a convolution block, and their outgoing weights `outlet`: those of a convolution, or of a
    linear layer behind the mean over the pixels. While they are blended in, `alpha` is their share: what they have
    beyond the channels of the block that they were copied from."""

    def __init__(self, inputs, channels, kernel, outputs, outlet_kernel=None, pool=False, alpha=None):
        super().__init__()
        self.conv = nn.Conv2d(inputs, channels, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        if outlet_kernel is None:
            self.outlet = nn.Linear(channels, outputs, bias=False)
        else:
            self.outlet = nn.Conv2d(channels, outputs, outlet_kernel, padding=outlet_kernel // 2, bias=False)
        self.pool = pool
        self.alpha = alpha

    def forward(self, x, channels):
        new = F.relu(self.norm(self.conv(x)))
        if self.pool:
            new = F.max_pool2d(new, 2)
        return new if self.alpha is None else self.alpha * (new - channels[:, : new.shape[1]])


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with batch norm beside a path on which nothing happens."""

    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(x + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))


class CausalAttention(nn.Module):
    """[B, T, C]: each token sees itself and those before it. `bias`, [heads, T, T], is added to the scores, and must
    then hold the causal -inf."""

    def __init__(self, channels, heads, dropout=0.0):
        super().__init__()
        self.qkv = nn.Linear(channels, 3 * channels)
        self.proj = nn.Linear(channels, channels)
        self.heads = heads
        self.dropout = dropout

    def attend(self, x, bias=None):
        batch, tokens, channels = x.shape
        q, k, v = (
            part.view(batch, tokens, self.heads, channels // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(channels, dim=2)
        )
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=dropout, is_causal=bias is None)
        return self.proj(y.transpose(1, 2).reshape(batch, tokens, channels))

    def forward(self, x):
        return self.attend(x)


class TokenMlp(nn.Module):
    """The MLP of a decoder layer."""

    def __init__(self, channels):
        super().__init__()
        self.up = nn.Linear(channels, 4 * channels)
        self.down = nn.Linear(4 * channels, channels)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class DecoderLayer(nn.Module):
    """Pre-norm causal attention and a GELU MLP. `more`: more units of that MLP."""

    def __init__(self, channels, heads, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(channels)
        self.attention = CausalAttention(channels, heads, dropout)
        self.norm2 = nn.LayerNorm(channels)
        self.mlp = TokenMlp(channels)
        self.dropout = dropout

    def forward(self, x, more=None):
        x = x + F.dropout(self.attention(self.norm1(x)), self.dropout, self.training)
        inlet = self.norm2(x)
        x = x + F.dropout(self.mlp(inlet), self.dropout, self.training)
        return x if more is None else x + more(inlet, self.mlp)


class MoreMlpUnits(nn.Module):
    """More units of a decoder layer's MLP, and their outgoing weights `outlet`. While they are blended in, `alpha` is
    their share: what they have beyond the units of the MLP that they were copied from."""

    def __init__(self, channels, units, alpha=None):
        super().__init__()
        self.up = nn.Linear(channels, units)
        self.outlet = nn.Linear(units, channels, bias=False)
        self.alpha = alpha

    def forward(self, x, mlp):
        new = F.gelu(self.up(x))
        if self.alpha is not None:
            new = self.alpha * (new - F.gelu(mlp.up(x))[..., : new.shape[-1]])
        return self.outlet(new)


class LinearHost(nn.Module):
    """One linear layer over all numbers of a sample."""

    def __init__(self, inputs, classes):
        super().__init__()
        self.head = nn.Linear(inputs, classes)


class Mlp(nn.Module):
    """Dense blocks of these widths, and a head."""

    def __init__(self, inputs, widths, classes, dropout=0.0):
        super().__init__()
        for i, width in enumerate(widths):
            self.add_module(f"block{i}", DenseBlock(inputs, width, dropout))
            inputs = width
        self.head = nn.Linear(inputs, classes)


class Cnn(nn.Module):
    """Convolution blocks of these channels, the first `pools` of which halve the image, and a head over the mean over
    the pixels."""

    def __init__(self, inputs, channels, classes, kernel, pools, residual_blocks=0):
        super().__init__()
        for i, width in enumerate(channels):
            self.add_module(f"block{i}", ConvBlock(inputs, width, kernel, i < pools, residual_blocks))
            inputs = width
        self.head = nn.Linear(inputs, classes)


class Transformer(nn.Module):
    """A decoder with learned positions, whose embedding of tokens is its head as well."""

    def __init__(self, vocabulary, context, channels, layers, heads, dropout=0.0):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, channels)
        self.positions = nn.Embedding(context, channels)
        for i in range(layers):
            self.add_module(f"layer{i}", DecoderLayer(channels, heads, dropout))
        self.norm = nn.LayerNorm(channels)
        self.dropout = dropout

    def embed(self, x):
        return F.dropout(self.tokens(x) + self.positions.weight[: x.shape[1]], self.dropout, self.training)

    def head(self, x):
        return F.linear(self.norm(x), self.tokens.weight)


class TargetUnits(nn.Module):
    """Standardised targets in the units of the data."""

    def __init__(self, mean, deviation):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32), persistent=False)
        self.register_buffer("deviation", torch.tensor(deviation, dtype=torch.float32), persistent=False)

    def forward(self, y):
        return y * self.deviation.view(y.shape[1:]) + self.mean.view(y.shape[1:])


def add_tensor(module, name, tensor):
    """A parameter or buffer of that dotted name, in modules that are made for it."""
    *path, last = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, nn.Module())
        module = module._modules[part]
    if isinstance(tensor, nn.Parameter):
        module.register_parameter(last, tensor)
    else:
        module.register_buffer(last, tensor)
