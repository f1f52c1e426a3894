"""An exported file reads its weights with torch alone as the package safetensors does: porting_loading.py PROJECT_ROOT"""

import importlib.util
import pathlib
import sys
import tempfile

import torch
from safetensors.torch import save_file

TYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
         torch.uint8, torch.bool]

tensors = {str(dtype): torch.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype) for dtype in TYPES}
tensors["empty"] = torch.zeros(0, 3)
tensors["scalar"] = torch.tensor(7)
spec = importlib.util.spec_from_file_location("loading", pathlib.Path(sys.argv[1]) / "lib/porting/python/loading.py")
loading = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(loading)
sys.modules["safetensors"] = sys.modules["safetensors.torch"] = None  # as where it is not installed
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "weights.safetensors"
    save_file(tensors, path)
    read = loading.read_safetensors(path)
assert set(read) == set(tensors), read.keys()
for name, tensor in tensors.items():
    assert read[name].dtype == tensor.dtype and torch.equal(read[name], tensor), name
print(f"{len(tensors)} tensors are read alike")
