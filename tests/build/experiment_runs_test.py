"""The runs of scripts/experiment: what they are known by, one script in a folder at a time, and none that outlives its script."""
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

root, scratch = map(pathlib.Path, sys.argv[1:])
sys.path.insert(0, str(root / "scripts/experiments"))
import runs  # noqa: E402

DEADLINE_S = 60
shutil.rmtree(scratch, ignore_errors=True)
(scratch / "bin").mkdir(parents=True)

# A run is known by the settings that its file extends, too. A file that extends nothing is known by its text, as those in
# docs/experiments are.
base, config, esper = scratch / "base.yaml", scratch / "config.yaml", scratch / "bin/esper"
esper.write_text("#!/bin/sh\n")
base.write_text("epochs: 3\n")
config.write_text("extends: base.yaml  # the base\nseed: 4\n")


def key(file):
    return runs.Room(esper, file, scratch, None).key(["seed=1"])


before = key(config)
assert key(config) == before
assert key(base) == hashlib.sha256(json.dumps([base.read_text(), ["seed=1"], runs.binary_digest(esper)]).encode()).hexdigest()[:16]
base.write_text("epochs: 4\n")
assert key(config) != before

SCRIPT = """import sys, types
sys.path.insert(0, {experiments!r})
import command, runs
page = types.SimpleNamespace(markdown=lambda content: "page", summarise=lambda content: content, readme=lambda content: [])

def run(arguments, root):
    options = command.options_of(command.parser_of("growth", "", "", root), arguments, root)
    calls = [lambda: runs.call_text(options.esper, ["train"])] * 3
    command.carry_out(options, "growth", page, lambda content, write: command.at_once(2, calls))

command.main(run)
""".format(experiments=str(root / "scripts/experiments"))
esper.write_text(f"""#!/bin/sh
trap 'echo $$ >>{scratch}/ended; exit 143' TERM
echo $$ >>{scratch}/begun
while :; do sleep 0.05; done
""")
esper.chmod(0o755)


def script(*arguments, work="work", out="out"):
    words = [sys.executable, "-c", SCRIPT, scratch, *arguments, "--esper", esper, "--work", scratch / work, "--out", scratch / out]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)


def lines(file):
    return file.read_text().split() if file.exists() else []


def wait_for(met):
    until = time.monotonic() + DEADLINE_S
    while not met():
        assert time.monotonic() < until
        time.sleep(0.02)


first = script()
try:
    wait_for(lambda: len(lines(scratch / "begun")) == 2)
    other_out, other_work = {"out": "other"}, {"work": "other"}
    for arguments, places, option in ((), other_out, "--work"), ((), other_work, "--out"), (("--page",), other_work, "--out"):
        second = script(*arguments, **places)
        said = second.communicate(timeout=DEADLINE_S)[1]
        assert second.returncode == 75 and option in said and "Traceback" not in said, (second.returncode, said)
    first.send_signal(signal.SIGTERM)
    said = first.communicate(timeout=DEADLINE_S)[1]
    assert first.returncode == 1 and "broken off" in said and "Traceback" not in said, (first.returncode, said)
    assert sorted(lines(scratch / "ended")) == sorted(lines(scratch / "begun")) and len(lines(scratch / "begun")) == 2
finally:
    try:
        os.killpg(first.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass

# A run that is left alone, since its script was killed, keeps the folder.
(scratch / "begun").unlink()
first = script()
try:
    wait_for(lambda: len(lines(scratch / "begun")) == 2)
    first.kill()
    first.wait(DEADLINE_S)
    second = script(out="other")
    second.communicate(timeout=DEADLINE_S)
    assert second.returncode == 75, second.returncode
finally:
    os.killpg(first.pid, signal.SIGKILL)
