# Inputs of a network over numbers or images: as hosts.py.
import math

import torch


def preprocess(x):
    """What the network takes, float32 [B, *INPUT_SHAPE], from samples as they are in the data, one or a batch of them.
    Images may be rows of numbers. UNIT: what counts as 1; 255 where the data are pixels from 0 to 255."""
    x = torch.as_tensor(x).float() / UNIT
    if x.dim() <= 2 and x.shape[-1:] == (math.prod(INPUT_SHAPE),):
        x = x.reshape(-1, *INPUT_SHAPE)
    if x.dim() == len(INPUT_SHAPE):
        x = x[None]
    if x.shape[1:] != INPUT_SHAPE:
        raise ValueError(f"expected samples of shape {list(INPUT_SHAPE)}, found {list(x.shape)}")
    if not MEAN:
        return x
    each = (-1,) + (1,) * (len(INPUT_SHAPE) - 1)
    return (x - torch.tensor(MEAN).view(each)) / torch.tensor(DEVIATION).view(each)
