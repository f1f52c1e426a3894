# Inputs of a network over text: as hosts.py.
import torch


def preprocess(text):
    """What the network takes, int64 [1, T], from a text: the indices of its last characters in CLASS_NAMES."""
    index = {character: i for i, character in enumerate(CLASS_NAMES)}
    return torch.tensor([[index[character] for character in text[-INPUT_SHAPE[0] :]]])
