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
        return {name: tensor_at(data, begin, entry) for name, entry in header.items()}
    return load_file(path)


def tensor_at(data, begin, entry):
    """One tensor of a safetensors file whose values lie from `begin` on."""
    types = {
        "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
        "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
    }  # fmt: skip
    dtype, count = types[entry["dtype"]], math.prod(entry["shape"])
    if count == 0:
        return torch.zeros(entry["shape"], dtype=dtype)
    offset = begin + entry["data_offsets"][0]
    return torch.frombuffer(data, dtype=dtype, count=count, offset=offset).reshape(entry["shape"])


def build():
    """The network with values as PyTorch draws them."""
    return Network()


def load(path=pathlib.Path(__file__).with_name("weights.safetensors")):
    """The network as it was trained, for evaluation."""
    network = build()
    network.load_state_dict(read_safetensors(path))
    return network.eval()
