"""Runs of the program: train, then measure the last checkpoint on the test part. A finished run is kept and not repeated."""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from datasets import BadInput

FIELDS = {"train": "path", "validation": "validation_path", "test": "test_path"}  # of the section data
WITHOUT_GROWTH = ("growth.enabled=false", "policy.kind=none")
NOT_TRAINING = ("start_up", "checkpoint")  # owners in a run's ledger whose time is not the arm's
RUN_DEADLINE_S = 6 * 3600
EXTENDS = re.compile(r"^extends:\s*([^#\n]*[^#\s])", re.MULTILINE)
STARTING, STARTED, ENDING = threading.RLock(), set(), threading.Event()
KEPT_OPEN = []  # descriptors of locks, which a run holds as long as it lasts


def check_binary(esper):
    if not esper.is_file():
        raise BadInput(f"{esper} does not exist; build it: scripts/esper --version (or set another with --esper)")


def binary_digest(esper):
    """Of the program and the library it loads: runs of another build do not count."""
    digest = hashlib.sha256()
    for file in (esper, *sorted((esper.parent.parent / "lib").glob("libesper_engine.so"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def settings_text(config):
    """The text of a run file, followed by that of the file it extends."""
    text = config.read_text()
    base = EXTENDS.search(text)
    return text + settings_text(config.parent / base[1].strip("\"'")) if base else text


def started(command, **more):
    """A process that ends with end_all."""
    with STARTING:
        if ENDING.is_set():
            raise BadInput("it was broken off")
        process = subprocess.Popen(command, pass_fds=KEPT_OPEN, **more)
        STARTED.add(process.pid)
        return process


def end_all():
    """Ends what is running, and lets nothing start any more."""
    with STARTING:
        ENDING.set()
        for pid in STARTED:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)


def broken_off(*_):
    end_all()
    raise KeyboardInterrupt


def end_with_this_script():
    """A signal that ends the script ends its runs."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, broken_off)


def text_and_cpu(esper, arguments):
    """What `esper` printed, and the processor time of its process in seconds. Its own words, where it fails."""
    words, begin = " ".join(map(str, arguments)), time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        try:
            process = started([esper, *arguments], stdout=out, stderr=err)
        except OSError as error:
            raise BadInput(f"{esper} cannot be run ({error.strerror}); build it: scripts/esper --version") from error
        stop = threading.Timer(RUN_DEADLINE_S, process.kill)
        stop.start()
        try:
            _, status, used = os.wait4(process.pid, 0)  # of this process alone, also where several run side by side
        finally:
            stop.cancel()
            STARTED.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if time.monotonic() - begin >= RUN_DEADLINE_S:
            raise BadInput(f"esper {words}\nexceeded {RUN_DEADLINE_S // 3600} hours and was stopped")
        if process.returncode != 0:
            raise BadInput(f"esper {words}\nended with {process.returncode}: {(err.read() or out.read()).strip()[-2000:]}")
        return out.read(), used.ru_utime + used.ru_stime


def call_text(esper, arguments):
    return text_and_cpu(esper, arguments)[0]


def parsed(esper, arguments, text):
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"{esper} {arguments[0]} --json printed no JSON ({error}); is it this version of Esper?") from error


def call(esper, arguments):
    return parsed(esper, arguments, call_text(esper, [*arguments, "--json"]))


def assignments(sets):
    return [word for pair in sets for word in ("--set", pair)]


def kept_record(path, key):
    """What an earlier call measured, if it is whole and of the same settings and build."""
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError):
        return None  # the run is simply made again
    return record if isinstance(record, dict) and record.get("key") == key else None


def heard(summary):
    """The modules that reach the output at the end, in order of birth."""
    return [seed for seed in summary["seeds"] if seed["alpha"] > 0]


def unheard_parameters(summary):
    return sum(seed["params"] for seed in summary["seeds"] if not seed["alpha"] > 0)


def trained(esper, config, sets, folder):
    """The run's summary, and how long the clock ran for each second that the processor worked."""
    shutil.rmtree(folder, ignore_errors=True)
    arguments, begin = ["train", "--config", config, *assignments([f"runs_dir={folder}", *sets]), "--json"], time.monotonic()
    text, cpu = text_and_cpu(esper, arguments)
    return parsed(esper, arguments, text), (time.monotonic() - begin) / max(cpu, 1e-9)


def measure(esper, config, sets, folder, more=None):
    """Trains and evaluates; the record of it. `more` adds fields from the run's summary and folder."""
    summary, wall_over_cpu = trained(esper, config, sets, folder)
    run = pathlib.Path(summary["run_dir"])
    tested = call(esper, ["evaluate", run, "--part", "test"])["test"]
    owners = summary["ledger"]["ms"]
    added = more(summary, run) if more else {}
    shutil.rmtree(run / "checkpoints")
    return {
        "epochs": summary["epochs"],
        "steps": summary["steps"],
        "train_s": sum(ms for owner, ms in owners.items() if owner not in NOT_TRAINING) / 1000,
        "validation_s": owners["validation"] / 1000,
        "wall_over_cpu": wall_over_cpu,
        "parameters": summary["parameters"] - unheard_parameters(summary),
        "modules": [f"{seed['slot']}={seed['blueprint']}" for seed in heard(summary)],
        "unfinished": [f"{seed['seed_id']} {seed['stage']}" for seed in summary["seeds"] if seed["stage"] != "FOSSILIZED"],
        "train_accuracy": summary["train"]["accuracy"],
        "validation_accuracy": summary["validation"]["accuracy"],
        "validation_loss": summary["validation"]["loss"],
        "test_accuracy": tested["accuracy"],
        "test_loss": tested["loss"],
        "test_samples": tested["samples"],
        **added,
    }


class Room:
    """Where runs of one data set are made and kept."""

    def __init__(self, esper, config, work, say, fresh=False):
        self.esper, self.config, self.work, self.say, self.fresh = esper, config, work, say, fresh
        self.build = binary_digest(esper)

    def key(self, sets):
        text = json.dumps([settings_text(self.config), sets, self.build])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def run(self, seed, arm, sets, parts, more=None):
        told = [f"seed={seed}", *sets]
        sets = [*told, *(f"data.{FIELDS[part]}={path}" for part, path in parts.items())]
        name, key = f"{self.config.stem}-{seed}-{arm}", self.key(sets)
        kept = self.work / "results" / f"{name}.json"
        if not self.fresh and (record := kept_record(kept, key)):
            self.say(f"seed {seed}  {arm:11}  kept", record)
            return record
        record = measure(self.esper, self.config, sets, self.work / "runs" / name, more)
        record = {"seed": seed, "arm": arm, "key": key, "set": told, **record}
        write_whole(kept, record)
        self.say(f"seed {seed}  {arm:11}  {record['train_s']:.1f} s", record)
        return record


def telemetry(run):
    """What a run reported, packet by packet."""
    return [json.loads(line) for line in (run / "telemetry.jsonl").read_text().splitlines()]


def write_whole(path, value):
    """As JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(value, indent=1) + "\n")
    unfinished.rename(path)
