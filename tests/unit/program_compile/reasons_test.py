"""What a failed compilation is called, by the error that is at its root."""

import errno
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "lib/program/compile/worker"))

import reasons


class OutOfMemoryError(RuntimeError):
    """As torch has it for a GPU."""


class InvalidCxxCompiler(RuntimeError):
    """As torch has it."""


def raised_by(cause):
    try:
        try:
            raise cause
        except Exception as inner:
            raise RuntimeError("while a kernel was chosen") from inner
    except RuntimeError as error:
        return error


class ReasonsTest(unittest.TestCase):
    def check(self, cause, name):
        for error in (cause, raised_by(cause)):
            found = reasons.describe(error)
            self.assertEqual(found["error"], name)
            self.assertIn(str(error), found["reason"])

    def test_memory(self):
        self.check(MemoryError("no"), "out_of_memory")
        self.check(OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."), "out_of_memory")

    def test_disk(self):
        self.check(OSError(errno.ENOSPC, "No space left on device"), "disk_full")

    def test_compiler(self):
        self.check(InvalidCxxCompiler("g++"), "no_compiler")

    def test_else(self):
        self.check(RuntimeError("Expected a float"), "failed")


if __name__ == "__main__":
    unittest.main()
