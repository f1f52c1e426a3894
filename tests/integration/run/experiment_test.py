"""`scripts/experiment` as it is typed: small runs from start to page, again without training, and what it refuses."""
import json
import pathlib
import shutil
import subprocess
import sys

root, build, scratch = map(pathlib.Path, sys.argv[1:])
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
PLACES = ["--esper", build / "bin/esper", "--out", scratch / "out", "--work", scratch / "work"]
SMALL = ["growth", "--dataset", "digits", "--seeds", "2", "--epochs", "2", *PLACES]


def experiment(*arguments):
    return subprocess.run([root / "scripts/experiment", *arguments], capture_output=True, text=True, timeout=2000)


def refused(code, text, *arguments):
    done = experiment(*arguments)
    assert done.returncode == code and text in done.stderr, (arguments, done.returncode, done.stderr)
    assert "Traceback" not in done.stderr, done.stderr


first = experiment(*SMALL)
assert first.returncode == 0, first.stderr
assert "digits 1/10  seed 21  grown" in first.stderr and "\r" not in first.stderr, first.stderr
assert "| (b) the same host, grown by the heuristic |" in first.stdout, first.stdout
page, report = (scratch / "out/growth.md").read_text(), json.loads((scratch / "out/growth.json").read_text())["digits"]
assert "## Digits" in page and "Only 2 seeds" in page and "| (b) - (c) static, equal time |" in page, page
assert report["data"] == {"train": 1079, "validation": 359, "test": 359}
for of_seed in report["records"]:
    assert of_seed["small"]["epochs"] == of_seed["grown"]["epochs"] == of_seed["static"]["epochs"] == 2
    assert all(record["test_samples"] == 359 and record["train_s"] > 0 for record in of_seed.values())
    assert of_seed["static"]["parameters"] == of_seed["grown"]["parameters"]
    # Two epochs are too few to grow, so (c) is (a), to the last bit.
    assert of_seed["small"]["test_loss"] == of_seed["static"]["test_loss"]

again = experiment(*SMALL, "--json")
assert again.returncode == 0 and again.stderr.count(" kept, ") == again.stderr.count("\n"), again.stderr
assert json.loads(again.stdout)["digits"]["arms"]["small"]["parameters"]["mean"] == 346
(scratch / "out/growth.md").unlink()
assert experiment("growth", "--page", *PLACES).returncode == 0
assert (scratch / "out/growth.md").read_text().split("The last call took")[0] == page.split("The last call took")[0]

# With controls, too.
assert experiment(*SMALL, "--epochs", "10", "--controls").returncode == 0
report = json.loads((scratch / "out/growth.json").read_text())["digits"]
for of_seed in report["records"]:
    assert all(of_seed[arm]["epochs"] == 10 for arm in ("small", "grown", "static", "grown_control"))
    for grown, static in (("grown", "static"), ("grown_control", "static_control")):
        assert of_seed[static]["parameters"] == of_seed[grown]["parameters"] and of_seed[static]["modules"] == of_seed[grown]["modules"]
        assert set(of_seed[grown]["modules"]) <= set(of_seed[grown]["grew"]), of_seed[grown]

# What (d) is compared with is averaged as (d) is.
shown = subprocess.run([build / "bin/esper", "config", "show", root / "configs/experiment/growth_digits.yaml", "--json",
                        "--set", "growth.gates.evidence=control"], capture_output=True, text=True)
decay = f"training.ema_decay={json.loads(shown.stdout)['training']['ema_decay']}"
assert all(decay in of_seed[arm]["set"] for of_seed in report["records"] for arm in ("small_control", "static_control")), decay

# A module that is there from the start is in the network and is counted.
with_module = subprocess.run([build / "bin/esper", "train", "--config", root / "configs/experiment/growth_digits.yaml", "--dry-run", "--json",
                              "--set", "host.modules=[r0c0=conv_heavy]", "--set", "growth.enabled=false"], capture_output=True, text=True)
assert json.loads(with_module.stdout)["parameters"] == 346 + 18 * 16 * 16 + 4 * 16, with_module

# A search that has the grown run's time, seed by seed; a second call adds the seed that is missing.
SEARCH = ["size-search", "--dataset", "digits", "--epochs", "8", *PLACES]
assert experiment(*SEARCH, "--seeds", "2").returncode == 0
more = experiment(*SEARCH, "--seeds", "3", "--json")
assert more.returncode == 0 and more.stderr.count("seed 33") == 14 and "seed 31" not in more.stderr, more.stderr
assert json.loads(more.stdout)["digits"]["differences"]["quarters"]["n"] == 3
searched = json.loads((scratch / "out/size_search.json").read_text())["digits"]["seeds"]
assert list(searched) == ["31", "32", "33"] and len(searched["31"]["halving"]["tried"]) == 5
assert "| quarters |" in (scratch / "out/size_search.md").read_text()

refused(2, "missing experiment")
refused(2, "unknown experiment shrinking", "shrinking")
refused(2, "invalid choice: 'mnist' (choose from", "growth", "--dataset", "mnist")
refused(2, "an interval needs >= 2 seeds", "growth", "--seeds", "1")
refused(2, "must be >= 1", "growth", "--epochs", "0")
refused(1, "--epochs 9: must be >= 10", "growth", "--dataset", "digits", "--epochs", "9", "--controls", *PLACES)
refused(1, "scripts/esper --version", "growth", "--dataset", "digits", "--esper", scratch / "none")
refused(1, "--images FOLDER", "growth", *PLACES)
refused(1, "it has no folder train", "growth", "--images", scratch, *PLACES)
refused(1, "--full is CIFAR-10", "growth", "--dataset", "digits", "--full", *PLACES)
refused(1, "run the experiment first", "growth", "--page", "--out", scratch / "nowhere")
refused(1, "--text FILE", "deepen", *PLACES)
refused(1, "does not exist or is not a file", "deepen", "--text", scratch / "none", *PLACES)
refused(2, "--unit: invalid seconds value: '0'", "deepen", "--unit", "0")
refused(1, "there are 40", "evidence", "--grafts", "41", *PLACES)
refused(1, "--images FOLDER", "evidence", *PLACES)
shutil.rmtree(scratch)
