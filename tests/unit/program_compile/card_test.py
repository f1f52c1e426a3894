"""What a compilation for a card finds around it: headers, the driver's library, folders of its own."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

WORKER = pathlib.Path(__file__).parents[3] / "lib/program/compile/worker"
PREPARE = "import sys; sys.path.insert(0, sys.argv[1]); import card; card.check_python = lambda: None; card.prepare(sys.argv[2])"
SHOW = "; import json, os; print(json.dumps(dict(os.environ)))"


class CardTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.job = self.folder / "job"
        self.job.mkdir()
        self.toolkit = self.folder / "toolkit"
        (self.toolkit / "include/crt").mkdir(parents=True)
        for name in ("cuda.h", "cuda_runtime_api.h", "crt/host_defines.h"):
            (self.toolkit / "include" / name).touch()

    def prepare(self, **variables):
        command = [sys.executable, "-B", "-I", "-c", PREPARE + SHOW, WORKER, self.job]
        done = subprocess.run(command, env={"CUDA_HOME": str(self.toolkit), **variables}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def linked(self, name):
        return pathlib.Path(os.readlink(self.job / "cuda" / name))

    def test_its_folders_are_the_jobs(self):
        seen = self.prepare(TRITON_CACHE_DIR="/elsewhere")
        for name in ("CUDA_HOME", "TRITON_CACHE_DIR", "TRITON_HOME", "TRITON_LIBCUDA_PATH"):
            self.assertIn(self.job, [pathlib.Path(seen[name]), *pathlib.Path(seen[name]).parents], name)

    def test_the_users_toolkit_comes_first(self):
        self.prepare()
        self.assertEqual(self.linked("include"), self.toolkit / "include")

    def test_a_toolkit_without_headers_is_passed_over(self):
        complete = self.folder / "complete"
        shutil.copytree(self.toolkit, complete)
        os.remove(self.toolkit / "include/cuda.h")
        self.prepare(CUDA_PATH=str(complete))
        self.assertEqual(self.linked("include"), complete / "include")

    def test_the_drivers_library_is_the_one_that_the_loader_finds(self):
        driver = self.folder / "driver/libcuda.so.1"
        driver.parent.mkdir()
        command = ["g++", "-shared", "-x", "c++", "/dev/null", "-Wl,-soname,libcuda.so.1", "-o", driver]
        subprocess.run(command, check=True)
        self.prepare(LD_LIBRARY_PATH=str(driver.parent))
        for name in ("libcuda.so", "libcuda.so.1"):
            self.assertEqual(self.linked("lib64/" + name), driver)
        program = self.folder / "program"
        command = ["g++", "-shared", "-x", "c++", "/dev/null", f"-L{self.job}/cuda/lib64", "-Wl,--no-as-needed", "-lcuda"]
        subprocess.run([*command, "-o", program], check=True)
        self.assertIn(b"libcuda.so.1\0", program.read_bytes())


if __name__ == "__main__":
    unittest.main()
