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
    }


class NumericsTest(unittest.TestCase):
    def set(self, device, deterministic, tf32):
        job.set_numerics({"device": device, "deterministic": deterministic, "tf32": tf32})
        return settings()

    def test_for_a_card(self):
        for deterministic in (True, False):
            for tf32 in (True, False):
                expected = {"deterministic": deterministic, "tf32": tf32, "tf32 of cuDNN": tf32, "filled": False, "chosen without timing": False}
                self.assertEqual(self.set("cuda", deterministic, tf32), expected)

    def test_for_a_processor(self):
        before = settings()
        expected = {**before, "deterministic": True, "filled": False}
        self.assertEqual(self.set("cpu", True, not before["tf32"]), expected)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
