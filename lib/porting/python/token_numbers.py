# Inputs of a network over tokens that the data have as numbers: as hosts.py.
import torch


def preprocess(tokens):
    """What the network takes, int64 [1, T], from the numbers of tokens, of which the last ones count: a list, or a text
    with blanks between them."""
    numbers = [int(token) for token in (tokens.split() if isinstance(tokens, str) else tokens)]
    return torch.tensor([numbers[-INPUT_SHAPE[0] :]])
