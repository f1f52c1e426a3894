# Inputs of a network over numbers or images: as hosts.py.
import torch


def preprocess(x):
    """What the network takes, float32 [B, *INPUT_SHAPE], from samples as they are in the data, one or a batch of them.
    UNIT: what counts as 1; 255 where the data are pixels from 0 to 255."""
    x = torch.as_tensor(x).float() / UNIT
    if x.dim() == len(INPUT_SHAPE):
        x = x[None]
    if not MEAN:
        return x
    each = (-1,) + (1,) * (len(INPUT_SHAPE) - 1)
    return (x - torch.tensor(MEAN).view(each)) / torch.tensor(DEVIATION).view(each)
