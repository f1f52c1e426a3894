"""The Python that Esper is compared with computes under Esper's settings, and says under which."""

import io
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "apps/engine/bench"))
sys.stdin = io.StringIO()  # no requests

import peer
import torch

SCALER = {"init_scale": 1024.0, "growth_factor": 4.0, "backoff_factor": 0.25, "growth_interval": 7}


class PeerTest(unittest.TestCase):
    def in_force(self, device, settings):
        peer.apply_settings(settings)
        return peer.settings_now({"device": device, "settings": settings})

    def test_for_a_card(self):
        names = ("deterministic", "tf32_matmul", "tf32_cudnn", "cudnn_benchmark", "cudnn_deterministic")
        for only in (*names, None):
            settings = {"precision": "bfloat16", "threads": 1, "loss_scaler": None, "cublas_workspace": ":4096:8"}
            settings |= {name: name == only for name in names}
            self.assertEqual(self.in_force("cuda:0", settings), settings)
        self.assertEqual(os.environ["CUBLAS_WORKSPACE_CONFIG"], ":4096:8")
        self.assertFalse(torch.utils.deterministic.fill_uninitialized_memory)

    # On the CPU, since torch turns a scaler for a GPU off where there is none.
    def test_with_a_loss_scaler(self):
        settings = {"precision": "float16", "threads": 1, "deterministic": False, "loss_scaler": SCALER}
        self.assertEqual(self.in_force("cpu", settings), settings)


if __name__ == "__main__":
    unittest.main()
