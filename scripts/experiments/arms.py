"""One run of one arm: train, then measure the last checkpoint on the test part. A finished run is kept and not repeated."""
import hashlib
import json
import pathlib
import resource
import shutil
import subprocess
import time

from datasets import BadInput

# name: what it is. The order is that of the tables.
ARMS = {
    "small": "(a) the small host alone, equal epochs",
    "small_time": "(a) the small host alone, equal time",
    "grown": "(b) the same host, grown by the heuristic",
    "static": "(c) the grown network from the start, equal epochs",
    "static_time": "(c) the grown network from the start, equal time",
}
FIELDS = {"train": "path", "validation": "validation_path", "test": "test_path"}  # of the section data
WITHOUT_GROWTH = ("growth.enabled=false", "policy.kind=none")
NOT_TRAINING = ("start_up", "checkpoint")  # owners in a run's ledger whose time is not the arm's
RUN_DEADLINE_S = 6 * 3600


def check_binary(esper):
    if not esper.is_file():
        raise BadInput(f"{esper} does not exist; build it: scripts/esper --version (or set another with --esper)")


def binary_digest(esper):
    """Of the program and the library it loads: runs of another build do not count."""
    digest = hashlib.sha256()
    for file in (esper, *sorted((esper.parent.parent / "lib").glob("libesper_engine.so"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def call_text(esper, arguments):
    """What `esper` printed. Its own words, where it fails."""
    words = " ".join(map(str, arguments))
    try:
        done = subprocess.run([esper, *arguments], capture_output=True, text=True, timeout=RUN_DEADLINE_S)
    except OSError as error:
        raise BadInput(f"{esper} cannot be run ({error.strerror}); build it: scripts/esper --version") from error
    except subprocess.TimeoutExpired as error:
        raise BadInput(f"esper {words}\nexceeded {RUN_DEADLINE_S // 3600} hours and was stopped") from error
    if done.returncode != 0:
        raise BadInput(f"esper {words}\nended with {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def call(esper, arguments):
    text = call_text(esper, [*arguments, "--json"])
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"{esper} {arguments[0]} --json printed no JSON ({error}); is it this version of Esper?") from error


def assignments(sets):
    return [word for pair in sets for word in ("--set", pair)]


def kept_record(path, key):
    """What an earlier call measured, if it is whole and of the same settings and build."""
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError):
        return None  # the run is simply made again
    return record if isinstance(record, dict) and record.get("key") == key else None


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def heard(summary):
    """The modules that reach the output at the end, in order of birth."""
    return [seed for seed in summary["seeds"] if seed["alpha"] > 0]


def unheard_parameters(summary):
    return sum(seed["params"] for seed in summary["seeds"] if not seed["alpha"] > 0)


def measure(esper, config, sets, folder):
    """Trains and evaluates; the record of it."""
    shutil.rmtree(folder, ignore_errors=True)
    begin, cpu = time.monotonic(), cpu_s()
    summary = call(esper, ["train", "--config", config, *assignments([f"runs_dir={folder}", *sets])])
    wall, cpu = time.monotonic() - begin, cpu_s() - cpu
    tested = call(esper, ["evaluate", summary["run_dir"], "--part", "test"])["test"]
    owners = summary["ledger"]["ms"]
    for checkpoints in pathlib.Path(folder).glob("*/checkpoints"):
        shutil.rmtree(checkpoints)
    return {
        "epochs": summary["epochs"],
        "train_s": sum(ms for owner, ms in owners.items() if owner not in NOT_TRAINING) / 1000,
        "wall_over_cpu": wall / max(cpu, 1e-9),
        "parameters": summary["parameters"] - unheard_parameters(summary),
        "modules": [f"{seed['slot']}={seed['blueprint']}" for seed in heard(summary)],
        "unfinished": [f"{seed['seed_id']} {seed['stage']}" for seed in summary["seeds"] if seed["stage"] != "FOSSILIZED"],
        "train_accuracy": summary["train"]["accuracy"],
        "validation_accuracy": summary["validation"]["accuracy"],
        "test_accuracy": tested["accuracy"],
        "test_loss": tested["loss"],
        "test_samples": tested["samples"],
    }


class Room:
    """Where runs of one data set are made and kept."""

    def __init__(self, esper, config, work, say, fresh=False):
        self.esper, self.config, self.work, self.say, self.fresh = esper, config, work, say, fresh
        self.build = binary_digest(esper)

    def key(self, sets):
        text = json.dumps([self.config.read_text(), sets, self.build])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def run(self, seed, arm, sets, parts):
        told = [f"seed={seed}", *sets]
        sets = [*told, *(f"data.{FIELDS[part]}={path}" for part, path in parts.items())]
        name, key = f"{self.config.stem}-{seed}-{arm}", self.key(sets)
        kept = self.work / "results" / f"{name}.json"
        if not self.fresh and (record := kept_record(kept, key)):
            self.say(f"seed {seed}  {arm:11}  kept", record)
            return record
        record = measure(self.esper, self.config, sets, self.work / "runs" / name)
        record = {"seed": seed, "arm": arm, "key": key, "set": told, **record}
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(".part")
        unfinished.write_text(json.dumps(record, indent=2))
        unfinished.rename(kept)
        self.say(f"seed {seed}  {arm:11}  {record['train_s']:.1f} s", record)
        return record


def epochs_in(budget_s, record):
    """How many epochs of that run fit into the time; one at least."""
    return max(1, round(budget_s * record["epochs"] / record["train_s"]))


def in_equal_time(room, seed, arm, fixed, parts, like, budget_s):
    epochs = epochs_in(budget_s, like)
    if epochs == like["epochs"]:
        return {**like, "arm": arm}
    return room.run(seed, arm, [*fixed, f"epochs={epochs}"], parts)


def all_arms(room, seed, parts, epochs):
    """Records of one seed by arm, one run after another, since their time counts."""
    asked = [f"epochs={epochs}"]
    grown = room.run(seed, "grown", asked, parts)
    small = room.run(seed, "small", [*asked, *WITHOUT_GROWTH], parts)
    fixed = [*WITHOUT_GROWTH, f"host.modules=[{', '.join(grown['modules'])}]"]
    static = room.run(seed, "static", [*asked, *fixed], parts)
    records = {"small": small, "grown": grown, "static": static}
    for arm, its in (("small", WITHOUT_GROWTH), ("static", fixed)):
        records[f"{arm}_time"] = in_equal_time(room, seed, f"{arm}_time", its, parts, records[arm], grown["train_s"])
    return {arm: records[arm] for arm in ARMS}
