"""Programs are compiled under the settings of the process that runs them."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "lib/program/compile/worker"))
sys.argv[1:] = ["", "", "normal", "cpu"]  # as the worker's processes have them

import torch

import job


def settings():
    return {
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "tf32": torch.backends.cuda.matmul.allow_tf32,
        "tf32 of cuDNN": torch.backends.cudnn.allow_tf32,
        "filled": torch.utils.deterministic.fill_uninitialized_memory,
        "chosen without timing": job.inductor.deterministic,
        "reductions chosen without timing": job.inductor.write_are_deterministic_algorithms_enabled and torch.are_deterministic_algorithms_enabled(),
    }


class NumericsTest(unittest.TestCase):
    def set(self, device, deterministic, tf32, mode="default"):
        job.set_numerics({"device": device, "deterministic": deterministic, "tf32": tf32, "mode": mode})
        return settings()

    def test_for_a_card(self):
        for deterministic in (True, False):
            for tf32 in (True, False):
                expected = {"deterministic": deterministic, "tf32": tf32, "tf32 of cuDNN": tf32, "filled": False}
                untimed = {"chosen without timing": deterministic, "reductions chosen without timing": deterministic}
                self.assertEqual(self.set("cuda", deterministic, tf32), expected | untimed)
                untimed = dict.fromkeys(untimed, False)
                self.assertEqual(self.set("cuda", deterministic, tf32, "max-autotune"), expected | untimed)

    def test_for_a_processor(self):
        before = settings()
        expected = {**before, "deterministic": True, "filled": False, "chosen without timing": True, "reductions chosen without timing": True}
        self.assertEqual(self.set("cpu", True, not before["tf32"]), expected)

    def test_products_with_tf32_are_not_compiled_in(self):
        def backends(device, tf32, source="x = torch.float32"):
            request = {"threads": 1, "source": "INPUTS = []\ndef step():\n" + source, "device": device, "mode": "max-autotune", "tf32": tf32}
            return job.settings(request)["max_autotune_gemm_backends"]

        self.assertNotIn("TRITON", backends("cuda", True))
        self.assertIn("TRITON", backends("cuda", False))
        self.assertIn("TRITON", backends("cuda", True, "x = torch.bfloat16"))
        self.assertIn("TRITON", backends("cpu", True))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
