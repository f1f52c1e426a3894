"""The Python package's side of tests/parity/safetensors_test.cpp.

  describe FILE   read FILE with the package, print what it holds as JSON: tensors (dtype, shape, bytes as hex), metadata,
                  and the values of every float32 tensor as numpy sees them
  write FILE      read a description of the same form from standard input, write it to FILE with the package
"""

import json
import sys

import safetensors
import safetensors.numpy

# The package's reader gives the names of the format, its writer wants these.
WRITER_NAMES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "F16": "float16", "BF16": "bfloat16",
    "I32": "int32", "U32": "uint32", "F32": "float32", "F64": "float64", "I64": "int64", "U64": "uint64",
}


def describe(path):
    with open(path, "rb") as file:
        tensors = safetensors.deserialize(file.read())
    with safetensors.safe_open(path, framework="numpy") as opened:
        metadata = opened.metadata() or {}
        values = {name: opened.get_tensor(name).ravel().tolist()
                  for name, tensor in tensors if tensor["dtype"] == "F32"}
    result = {name: {"dtype": tensor["dtype"], "shape": tensor["shape"], "hex": bytes(tensor["data"]).hex()}
              for name, tensor in tensors}
    json.dump({"tensors": result, "metadata": metadata, "float32": values}, sys.stdout)


def write(path):
    description = json.load(sys.stdin)
    tensors = {name: {"dtype": WRITER_NAMES[tensor["dtype"]], "shape": tensor["shape"],
                      "data": bytes.fromhex(tensor["hex"])}
               for name, tensor in description["tensors"].items()}
    with open(path, "wb") as file:
        file.write(safetensors.serialize(tensors, description["metadata"]))


if __name__ == "__main__":
    {"describe": describe, "write": write}[sys.argv[1]](sys.argv[2])
