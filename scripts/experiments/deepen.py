"""The work behind `scripts/experiment deepen`."""
import hashlib
import json
import math
import pathlib
import statistics
import time

import command
import deepen_page
import runs
from datasets import BadInput

FIRST_SEED = 31  # settings were chosen with 101 to 103
UNIT_S = 3.6
BUDGETS = (1, 2, 4, 8, 16)  # units
EARLY = 0.65                # of the largest budget: one grown run more
DEPTHS = (2, 4, 6, 8)
EPOCHS = range(20, 41)      # of each run; few steps in each, so that validation gives a curve and the copies come when they should
LONGEST_EPOCH = 2000        # steps
CALIBRATION_STEPS = (10, 60)  # in each of 10 epochs
CALIBRATIONS = 3
EXAMPLE = """example:
  scripts/experiment deepen --text tinyshakespeare.txt
  scripts/experiment deepen --text tinyshakespeare.txt --seeds 2 --unit 0.2 --jobs 1 --out /tmp/deepen      # a quick test

A run that is finished is kept in the work folder and a seed that is finished in deepen.json, so what was broken off goes on with the same
command, and a larger --seeds adds seeds. Two runs side by side, a thread each; their time is the processor's: let the machine do nothing else."""


def seconds(text):
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError
    return value


def parse(arguments, root):
    parser = command.parser_of("deepen", "Transformers of several depths, and one that is deepened while it trains, at five budgets of time.",
                               EXAMPLE, root)
    command.add_seeds(parser, FIRST_SEED, 5)
    parser.add_argument("--text", metavar="FILE", help="the text to learn, like tinyshakespeare.txt")
    parser.add_argument("--unit", type=seconds, default=UNIT_S, metavar="SECONDS", help=f"of training time; default: {UNIT_S}")
    parser.add_argument("--jobs", type=command.whole_number(1), default=2, metavar="N", help="runs side by side; default: 2")
    return command.options_of(parser, arguments, root)


def text_of(options):
    """The text's path, and a name for its content."""
    if options.text is None:
        raise BadInput("deepen needs a text: --text FILE, for instance tiny Shakespeare (1.1 million characters)")
    path = pathlib.Path(options.text).resolve()
    if not path.is_file():
        raise BadInput(f"--text {path}: it does not exist or is not a file")
    return path, hashlib.sha256(path.read_bytes()).hexdigest()[:8]


def sets_of(arm):
    """The settings in which the arms differ; the settings file is the grown one's."""
    if arm == "grown":
        return []
    depth = int(arm.removeprefix("static"))
    return [f"host.layers={depth}", f"host.segments={depth}", "policy.schedule=[]", *runs.WITHOUT_GROWTH]


def arms():
    return [*(f"static{depth}" for depth in DEPTHS), "grown"]


def curve(_, run):
    """Training time (clock) and validation loss after each epoch."""
    points, spent = [], 0.0
    for packet in runs.telemetry(run):
        metrics = {metric["name"]: metric["value"] for metric in packet["metrics"]}
        if "tolaria.validation.loss" in metrics:
            spent += metrics["tolaria.training.latency_ms"] / 1000
            points.append([spent, metrics["tolaria.validation.loss"]])
    return {"curve": points}


def epoch_of_growth(epochs, at_percent):
    return math.ceil(epochs * at_percent / 100)


def line_through(measured):
    """(seconds at 0, seconds for one more) of [(x, seconds)], by least squares."""
    xs, ys = zip(*measured)
    middle, mean = statistics.fmean(xs), statistics.fmean(ys)
    slope = sum((x - middle) * (y - mean) for x, y in measured) / sum((x - middle) ** 2 for x in xs)
    return mean - slope * middle, slope


def cost_model(measured, start, at_percent):
    """{arm: [fixed seconds, seconds a step, seconds a step once grown]} of {arm: [(epochs, steps in each, seconds)]}; start: layers at first."""
    costs = {}
    for arm in (name for name in measured if name != "grown"):
        fixed, step = line_through([(epochs * steps, s) for epochs, steps, s in measured[arm]])
        costs[arm] = [fixed, step, step]
    before = costs[f"static{start}"][1]
    after = []
    for epochs, steps, s in measured["grown"]:
        grown_at = epoch_of_growth(epochs, at_percent)
        after.append(((epochs - grown_at) * steps, s - grown_at * steps * before))
    fixed, step = line_through(after)
    costs["grown"] = [fixed, before, step]
    return costs


def predicted_s(cost, at_percent, epochs, steps):
    fixed, before, after = cost
    grown_at = epoch_of_growth(epochs, at_percent)
    return fixed + steps * (grown_at * before + (epochs - grown_at) * after)


def plan(cost, at_percent, budget_s):
    """(epochs, steps in each) that take the time: the fewest epochs within 0.3 %, else the nearest."""
    choices = []
    for epochs in EPOCHS:
        one = predicted_s(cost, at_percent, epochs, 1) - cost[0]
        steps = min(LONGEST_EPOCH, max(1, round((budget_s - cost[0]) / one)))
        choices.append((max(0.003, abs(predicted_s(cost, at_percent, epochs, steps) / budget_s - 1)), epochs, steps))
    return min(choices)[1:]


class Bench:
    """Where the runs of one text are made."""

    def __init__(self, options):
        self.options = options
        self.config = options.root / "configs/experiment/deepen.yaml"
        self.text, digest = text_of(options)
        self.work = options.work / f"deepen-{digest}"
        shown = runs.call(options.esper, ["config", "show", self.config])
        self.batch, self.start = shown["data"]["batch_size"], shown["host"]["layers"]
        line = shown["policy"]["schedule"][0]
        self.at_percent, self.blueprint = int(line.partition("%")[0]), line.partition("=")[2]
        known_by = json.dumps([runs.settings_text(self.config), digest, options.unit, BUDGETS, EARLY, DEPTHS])
        self.settings = hashlib.sha256(known_by.encode()).hexdigest()[:16]

    def room(self, progress):
        return runs.Room(self.options.esper, self.config, self.work, progress, self.options.fresh)

    def run(self, room, seed, name, arm, size):
        epochs, steps = size
        sets = [*sets_of(arm), f"epochs={epochs}", f"data.epoch_samples={steps * self.batch}"]
        return room.run(seed, name, sets, {"train": self.text}, curve)

    def at_once(self, tasks):
        """{name: record} of [(name, call)], `--jobs` at a time, in the order given."""
        return dict(zip((name for name, _ in tasks), command.at_once(self.options.jobs, [call for _, call in tasks])))

    def calibrated(self):
        """Seconds a step of every arm, measured as the runs are: as many side by side."""
        sizes = [(10, steps) for _ in range(CALIBRATIONS) for steps in CALIBRATION_STEPS]
        room = self.room(command.Progress("calibration", len(sizes) * len(arms())))
        tasks = [((arm, i), lambda arm=arm, i=i, size=size: self.run(room, FIRST_SEED - 1, f"calibration-{arm}-{i}", arm, size))
                 for i, size in enumerate(sizes) for arm in arms()]
        records = self.at_once(tasks)
        return cost_model({arm: [(*sizes[i], deepen_page.training_s(records[arm, i])) for i in range(len(sizes))] for arm in arms()}, self.start,
                          self.at_percent)

    def of_seed(self, room, seed, costs):
        """{budget: {arm: record}}; the longest runs first, so that few wait at the end."""
        wanted = [(budget, arm) for budget in BUDGETS for arm in arms()] + [(EARLY * BUDGETS[-1], "grown")]
        tasks = [((budget, arm), lambda budget=budget, arm=arm: self.run(
                      room, seed, f"{arm}-{budget:g}", arm, plan(costs[arm], self.at_percent, budget * self.options.unit)))
                 for budget, arm in sorted(wanted, reverse=True)]
        records = self.at_once(tasks)
        return {f"{budget:g}": {arm: records[b, arm] for b, arm in wanted if b == budget} for budget in dict.fromkeys(b for b, _ in wanted)}


def experiment(bench, entry, write):
    """Adds what is missing to the entry of deepen.json; writes after each seed."""
    options, began = bench.options, time.monotonic()
    if entry.get("settings") != bench.settings or options.fresh:
        entry.clear()
        entry.update(settings=bench.settings, seeds={})
    wanted = [str(seed) for seed in range(FIRST_SEED, FIRST_SEED + options.seeds)]
    missing = [seed for seed in wanted if seed not in entry["seeds"]]
    if not missing:
        return
    entry.update(config=str(bench.config.relative_to(options.root)), command=command_of(options), unit_s=options.unit, jobs=options.jobs,
                 batch=bench.batch, start=bench.start, at_percent=bench.at_percent, blueprint=bench.blueprint,
                 environment=command.environment_of(options.esper, bench.config))
    if "costs" not in entry:
        entry["costs"] = bench.calibrated()
    room = bench.room(command.Progress("deepen", len(missing) * (len(BUDGETS) * len(arms()) + 1)))
    for seed in missing:
        entry["seeds"][seed] = {"esper": entry["environment"]["esper"], "runs": bench.of_seed(room, int(seed), entry["costs"])}
        entry["environment"]["minutes"] = (time.monotonic() - began) / 60
        write()


def command_of(options):
    words = ["scripts/experiment deepen", "--text", "tinyshakespeare.txt", "--seeds", str(options.seeds)]
    words += ["--unit", f"{options.unit:g}"] if options.unit != UNIT_S else []
    words += ["--jobs", str(options.jobs)] if options.jobs != 2 else []
    return " ".join(words)


def run(arguments, root):
    options = parse(arguments, root)
    command.carry_out(options, "deepen", deepen_page, lambda entry, write: experiment(Bench(options), entry, write))


if __name__ == "__main__":
    command.main(run)
