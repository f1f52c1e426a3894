"""The work behind `scripts/train_policy`."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "experiments"))
import runs  # noqa: E402
from datasets import BadInput  # noqa: E402

CONFIG = "configs/run/digits_gnn.yaml"
FILE = "configs/policy/digits.safetensors"
MOST_BEHIND = 0.5  # points of validation accuracy, mean over the seeds
EPOCHS = 60  # of the imitation
# Of the recorded runs and of the comparison: none in common, and none of the configurations' own.
FIRST_SEED, FIRST_OWN_SEED, FIRST_COMPARED = 2001, 3001, 4001
# What differs from run to run, so that the network learns when to grow, and not the digits run by heart: length, size,
# learning rate, slots and what may grow. The heuristic's own settings stay: two teachers would contradict each other.
# Most have the settings that the file is for.
VARIANTS = (
    [],
    ["host.base_channels=12"],
    [],
    ["training.optimizer.lr=0.03"],
    ["epochs=120", "training.schedule.step_epochs=80"],
    [],
    ["host.blocks=2", "growth.blueprints=[conv_light,conv_heavy]"],
    ["host.base_channels=24", "epochs=60", "training.schedule.step_epochs=40"],
)


def whole_number(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be >= 1")
    return int(text)


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="scripts/train_policy", description="Makes and checks the policy file of digits_gnn.yaml.")
    parser.add_argument("--runs", type=whole_number, default=24, metavar="N", help="runs that the heuristic decides; default: 24")
    parser.add_argument("--seeds", type=whole_number, default=5, metavar="N", help="seeds of the comparison; default: 5")
    parser.add_argument("--jobs", type=whole_number, default=os.cpu_count() or 1, metavar="N", help="runs side by side; default: one a core")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(FILE), metavar="FILE", help=f"default: {FILE}")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/policy"), metavar="FOLDER", help="default: build/policy")
    return parser.parse_args(arguments)


def summary_of(run):
    """None unless the run reached its end."""
    try:
        summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return summary if summary["status"] == "done" else None


def key_of(esper, assignments):
    """What a run depends on: the program, the settings and the policy's file."""
    files = [word.removeprefix("policy.file=") for word in assignments if word.startswith("policy.file=")]
    digests = [hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest() for file in files]
    text = json.dumps([runs.binary_digest(esper), runs.settings_text(pathlib.Path(CONFIG)), assignments, digests])
    return hashlib.sha256(text.encode()).hexdigest()


def train(esper, run, assignments):
    # A busy machine must not change what is decided.
    assignments = [*assignments, "device.kind=cpu", "telemetry.console=none", "safety.policy_deadline=60s"]
    known_by, key = run.with_name(f"{run.name}.key"), key_of(esper, assignments)
    if summary_of(run) is None or not known_by.exists() or known_by.read_text() != key:
        shutil.rmtree(run, ignore_errors=True)
        known_by.write_text(key)
        print(f"training {run}", file=sys.stderr, flush=True)
        runs.call_text(esper, ["train", "--config", CONFIG, "--run-dir", run, "--set", *assignments])
    return run


def train_all(esper, options, wanted):
    """wanted: {folder: assignments}. Returns the folders."""
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(lambda entry: train(esper, *entry), wanted.items()))


def imitate(esper, folders, out):
    print(f"imitating {len(folders)} runs", file=sys.stderr, flush=True)
    runs.call_text(esper, ["policy", "imitate", *folders, "--out", out, "--epochs", str(EPOCHS), "--replace"])


def recorded(options, name, first_seed, count, assignments):
    return {options.work / f"{name}-{i:02}": [f"seed={first_seed + i}", *VARIANTS[i % len(VARIANTS)], *assignments] for i in range(count)}


def accuracy(run):
    return 100 * summary_of(run)["validation"]["accuracy"]


def compare(esper, options, file):
    """Points by which the network of the file is ahead, by seed."""
    kinds = {"heuristic": ["policy.kind=heuristic"], "gnn": [f"policy.file={file}"]}
    wanted = {options.work / f"compared-{kind}-{seed}": [f"seed={seed}", *words]
              for seed in range(FIRST_COMPARED, FIRST_COMPARED + options.seeds) for kind, words in kinds.items()}
    train_all(esper, options, wanted)
    ahead = []
    for seed in range(FIRST_COMPARED, FIRST_COMPARED + options.seeds):
        ours, theirs = (accuracy(options.work / f"compared-{kind}-{seed}") for kind in ("gnn", "heuristic"))
        print(f"seed {seed}: network {ours:.2f} %, heuristic {theirs:.2f} %")
        ahead.append(ours - theirs)
    return ahead


def take(candidate, out):
    """Whole or not at all: the work folder may be on another disk."""
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f"{out.name}.part")
    shutil.copyfile(candidate, unfinished)
    os.replace(unfinished, out)


def work(root, options):
    esper = pathlib.Path(root) / "build/release/bin/esper"
    options.work.mkdir(parents=True, exist_ok=True)
    first, candidate = options.work / "first.safetensors", options.work / "candidate.safetensors"
    own_work = recorded(options, "heuristic", FIRST_SEED, options.runs, ["policy.kind=heuristic"])
    folders = train_all(esper, options, own_work)
    imitate(esper, folders, first)
    # Situations that the network gets into, with what the heuristic would have decided there (DAgger).
    own = ["policy.kind=gnn", f"policy.file={first}"]
    folders += train_all(esper, options, recorded(options, "own", FIRST_OWN_SEED, max(1, options.runs // 2), own))
    imitate(esper, folders, candidate)
    print(runs.call_text(esper, ["policy", "show", candidate]))
    ahead = compare(esper, options, candidate)
    mean = statistics.mean(ahead)
    print(f"the network is {mean:+.2f} points ahead of the heuristic, mean over {len(ahead)} seeds; target: at least -{MOST_BEHIND}")
    if mean < -MOST_BEHIND:
        print(f"{options.out} stays as it was; the network is in {candidate}")
        return 1
    take(candidate, options.out)
    return 0


def main(root, arguments):
    options = options_of(arguments)
    runs.end_with_this_script()
    try:
        return work(root, options)
    except BadInput as error:
        sys.exit(f"train_policy: {error}")
    except KeyboardInterrupt:
        sys.exit("train_policy: broken off; the same command goes on with the runs that are left")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
