# What an exported network is loaded with: as hosts.py, after the network.
import json
import math
import pathlib

import torch


def read_safetensors(path):
    """The tensors of a safetensors file by name. With torch alone, where the package safetensors is not there."""
    try:
        from safetensors.torch import load_file
    except ImportError:
        data = bytearray(pathlib.Path(path).read_bytes())
        begin = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:begin])
        header.pop("__metadata__", None)
        types = {"F32": torch.float32, "I64": torch.int64, "U8": torch.uint8}
        return {
            name: torch.frombuffer(
                data,
                dtype=types[entry["dtype"]],
                count=math.prod(entry["shape"]),
                offset=begin + entry["data_offsets"][0],
            ).reshape(entry["shape"])
            for name, entry in header.items()
        }
    return load_file(path)


def build():
    """The network with values as PyTorch draws them."""
    return Network()


def load(path=pathlib.Path(__file__).with_name("weights.safetensors")):
    """The network as it was trained, for evaluation."""
    network = build()
    network.load_state_dict(read_safetensors(path))
    return network.eval()
