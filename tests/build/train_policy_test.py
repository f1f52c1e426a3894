"""scripts/train_policy keeps the old policy file until a better one is checked, and makes a run again where what it depends on has changed:
train_policy_test.py PROJECT_ROOT EMPTY_FOLDER"""
import pathlib
import shutil
import subprocess
import sys

root, scratch = map(pathlib.Path, sys.argv[1:])
shutil.rmtree(scratch, ignore_errors=True)
esper, log, out = scratch / "build/release/bin/esper", scratch / "log", scratch / "configs/policy/digits.safetensors"
for folder in (esper.parent, scratch / "configs/run", out.parent):
    folder.mkdir(parents=True)
(scratch / "configs/run/digits_gnn.yaml").write_text("extends: digits.yaml\n")
(scratch / "configs/run/digits.yaml").write_text("epochs: 3\n")
out.write_text("old")
# A network has the accuracy that its file says; the heuristic 0.9.
esper.write_text(f"""#!{sys.executable}
import json, pathlib, sys
words = sys.argv[1:]
def after(word):
    return words[words.index(word) + 1]
if words[0] == "train":
    with open("log", "a") as log:
        log.write(pathlib.Path(after("--run-dir")).name + "\\n")
    files = [word.partition("=")[2] for word in words if word.startswith("policy.file=")]
    accuracy = float(pathlib.Path(files[0]).read_text()) if files else 0.9
    run = pathlib.Path(after("--run-dir"))
    run.mkdir()
    (run / "summary.json").write_text(json.dumps({{"status": "done", "validation": {{"accuracy": accuracy}}}}))
elif words[1] == "imitate":
    pathlib.Path(after("--out")).write_text(pathlib.Path("learned").read_text())
""")
esper.chmod(0o755)


def train_policy(learned):
    """Its exit status and the runs that it made."""
    (scratch / "learned").write_text(learned)
    log.write_text("")
    done = subprocess.run([sys.executable, root / "scripts/train_policy.py", scratch, "--runs", "2", "--seeds", "2", "--jobs", "1"],
                          cwd=scratch, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, sorted(log.read_text().split())


HEURISTIC = ["compared-heuristic-4001", "compared-heuristic-4002", "heuristic-00", "heuristic-01"]
NETWORK = ["compared-gnn-4001", "compared-gnn-4002", "own-00"]
ALL = sorted([*HEURISTIC, *NETWORK])

assert train_policy("0.5") == (1, ALL)
assert out.read_text() == "old"
assert train_policy("0.95") == (0, NETWORK)  # what the heuristic does is known
assert out.read_text() == "0.95" and not out.with_name(f"{out.name}.part").exists()
assert train_policy("0.95") == (0, [])
(scratch / "configs/run/digits.yaml").write_text("epochs: 4\n")
assert train_policy("0.95") == (0, ALL)
esper.write_text(esper.read_text() + "# another build\n")
assert train_policy("0.95") == (0, ALL)
esper.write_text("#!/bin/sh\nexit 3\n")
assert train_policy("0.95") == (1, []) and out.read_text() == "0.95"
