"""What Inductor writes where something is done to every program. Its code is read, and not compiled."""

import pathlib
import re
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "lib/program/compile/worker"))
sys.argv[1:] = ["", "", "normal", "cpu"]  # as the worker's processes have them

import job
import recipes
import toolchain
import torch
from torch._inductor import decomposition

ATEN_KERNEL = re.compile(r'"aten::embedding_dense_backward"|aoti_torch\w*_embedding_dense_backward\(')
ROW_BY_ROW = re.compile(r"index_put|atomic_add")

# The gradient of a table of 65 rows, of which a batch reads 512.
TABLE = """
import torch
INPUTS = [((512, 8), (8, 1), torch.float32, "cpu"), ((512,), (1,), torch.int64, "cpu"), ((65, 8), (8, 1), torch.float32, "cpu")]
def step(a0, a1, a2):
    aten = torch.ops.aten
    gradient = aten.embedding_dense_backward.default(a0, a1, 65, -1, False)
    aten.sub_.Tensor(a2, aten.mul.Tensor(gradient, 0.1))
    return (aten.sum.default(gradient),)
"""


class RecipesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def code(self, deterministic):
        """Kernels, what calls them, and which of ATen's it calls. What is done to a program stays done in this process."""
        request = {"source": TABLE, "recipe": "default", "device": "cpu", "deterministic": deterministic, "tf32": False}
        request |= {"mode": "default", "threads": 2, "effort": "quick"}
        place = self.folder / f"deterministic_{deterministic}"
        place.mkdir()
        with unittest.mock.patch.object(toolchain, "Build", toolchain.NoBuild):
            job.compile_program(request, str(place), types.SimpleNamespace(root=str(place)), lambda message: None)
        return "\n".join(path.read_text() for end in ("cpp", "json") for path in place.rglob("*." + end))

    def test_the_gradient_of_a_table(self):
        for deterministic in (False, True):
            code = self.code(deterministic)
            with self.subTest(deterministic=deterministic):
                self.assertEqual(ATEN_KERNEL.search(code) is not None, deterministic)
                self.assertEqual(ROW_BY_ROW.search(code) is not None, not deterministic)

    def test_the_gradient_of_a_group_norm(self):
        aten = torch.ops.aten
        recipes.for_all("cpu", False)
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            torch.manual_seed(1)
            values, gradient = torch.randn(2, 6, 2, 2).to(dtype), torch.randn(2, 6, 2, 2).to(dtype)
            scale, shift = torch.rand(6), torch.rand(6)
            _, mean, rstd = aten.native_group_norm(values, scale, shift, 2, 6, 4, 3, 1e-5)
            arguments = (gradient, values, mean, rstd, scale, 2, 6, 4, 3, [True, True, True])
            expected = aten.native_group_norm_backward(*arguments)
            made = decomposition.decompositions[aten.native_group_norm_backward.default](*arguments)
            for of_kernel, of_decomposition in zip(expected, made):
                with self.subTest(dtype=dtype):
                    self.assertEqual(of_kernel.dtype, of_decomposition.dtype)
                    torch.testing.assert_close(of_decomposition, of_kernel, rtol=0.02, atol=0.02)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
