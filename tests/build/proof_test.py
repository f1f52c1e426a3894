"""scripts/proof takes a failed build for what it is, and waits for nothing that cannot come: proof_test.py PROJECT_ROOT EMPTY_FOLDER"""
import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import time

root, scratch = (pathlib.Path(path).resolve() for path in sys.argv[1:])
shutil.rmtree(scratch, ignore_errors=True)
checkout, stubs = scratch / "a checkout", scratch / "stubs"
shutil.copytree(root / "scripts", checkout / "scripts")
stubs.mkdir()
torch = checkout / ".esper/python/lib/python3.11/site-packages/torch"
torch.mkdir(parents=True)
(torch / "version.py").write_text("__version__ = '2.0.1'\n")
build = checkout / "build/release"
build.mkdir(parents=True)
(build / "CMakeCache.txt").write_text(f"ESPER_TORCH:PATH={torch}\n")
(build / "build.ninja").touch()
built = scratch / "built"

loader = importlib.machinery.SourceFileLoader("proof", str(checkout / "scripts/proof"))
proof = importlib.util.module_from_spec(importlib.util.spec_from_loader("proof", loader))
loader.exec_module(proof)
os.environ["PATH"] = f"{stubs}:{os.environ['PATH']}"
os.environ["ESPER_CACHE"] = str(scratch / "cache")
for name in ("ESPER_TORCH", "ESPER_PRESET"):
    os.environ.pop(name, None)


def stub(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def error_of(call):
    try:
        call()
    except (RuntimeError, subprocess.SubprocessError) as error:
        return str(error)
    raise AssertionError("must fail")


# The program of an earlier build is there and would pass.
stub(build / "bin/unit_a", """echo '{"test-run": {"totals": {"test-cases": {"passed": 1}, "assertions": {"passed": 2}}}}'""")
stub(stubs / "ninja", "exit 1")
assert "exit status 1" in error_of(lambda: proof.run_tests({"unit_a": ("a case",)}))
stub(stubs / "ninja", f"echo \"$*\" >'{built}'")
assert proof.run_tests({"unit_a": ("a case",)}) == {"unit_a": {"cases": 1, "checks": 2, "exit": 0}, "holds": True}
assert built.read_text().rstrip().endswith(" unit_a"), built.read_text()

# A process that ends, and one that goes on without what is waited for.
with proof.running(["sh", "-c", "exit 3"]) as process:
    assert "exit status 3 before epoch 20" in error_of(lambda: proof.wait_for_epochs(scratch, 20, process))
    assert proof.wait_until(lambda: "it is there", process, "a text") == "it is there"
proof.DEADLINE_S = 0.1
begin = time.monotonic()
with proof.running(["sleep", "60"]) as process:
    assert "after 0.1 s there was not epoch 1" in error_of(lambda: proof.wait_for_epochs(scratch, 1, process))
assert time.monotonic() - begin < 30
