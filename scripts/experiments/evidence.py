"""The work behind `scripts/experiment evidence`."""
import hashlib
import json
import time

import command
import datasets
import evidence_page
import figures
import runs
from datasets import BadInput
from grafts import GRAFTS

FIRST_SEED = 31  # of the first graft; each has its own
EPOCHS = {"digits": 30, "cifar10_16": 24}
CONTROL_BUDGET = 0.3
BLENDED, STRAIGHT = ("growth.training=blended",), ("growth.training=straight_through",)
# Through all stages whatever is measured: what the graft is worth is seen at the end.
KEPT = ("growth.gates.evidence=none", "growth.gates.min_gradient_ratio=0", "policy.heuristic.prune_after_epochs=1000000",
        "policy.heuristic.prune_drop_points=100", "policy.heuristic.min_fossilize_points=-100")
# Which run tells a verdict, what it sets, and with which kept run it is compared.
VERDICTS = {
    "straight_ablation": ((*STRAIGHT, "growth.gates.evidence=ablation"), "straight"),
    "blended_ablation": ((*BLENDED, "growth.gates.evidence=ablation"), "blended"),
    "blended_control": ((*BLENDED, "growth.gates.evidence=control", f"growth.control.budget={CONTROL_BUDGET}"), "blended"),
}
TRUTHS = {"blended": (*BLENDED, *KEPT), "straight": (*STRAIGHT, *KEPT)}
EXAMPLE = """example:
  scripts/experiment evidence --images cifar10-images.tar.gz --jobs 2
  scripts/experiment evidence --grafts 4 --images cifar10-images.tar.gz --out /tmp/evidence      # a quick test

A graft that is finished is kept in evidence.json and a run in the work folder, so what was broken off goes on with the same command. No times are
compared, so the machine may do other work."""


def parse(arguments, root):
    parser = command.parser_of("evidence", "What gates decide about grafts of which a control, trained to the end, tells the truth.", EXAMPLE, root)
    parser.add_argument("--images", metavar="PATH", help=datasets.IMAGES_HELP)
    parser.add_argument("--grafts", type=command.whole_number(2), default=len(GRAFTS), metavar="N",
                        help=f"how many, spread over all; default: all {len(GRAFTS)}")
    parser.add_argument("--jobs", type=command.whole_number(1), default=2, metavar="N", help="grafts side by side; default: 2")
    return command.options_of(parser, arguments, root)


def chosen_grafts(count):
    """[(seed, graft)]; a graft's seed does not depend on the count."""
    if count > len(GRAFTS):
        raise BadInput(f"--grafts {count}: there are {len(GRAFTS)}")
    places = sorted({i * len(GRAFTS) // count for i in range(count)})
    return [(FIRST_SEED + place, GRAFTS[place]) for place in places]


def epoch_of(graft):
    return round(graft.at * EPOCHS[graft.task])


def sets_without(graft):
    return [f"epochs={EPOCHS[graft.task]}", *graft.sets, f"growth.blueprints=[{graft.blueprint}]", f"growth.slots=[{graft.slot}]", "policy.kind=none"]


def sets_with(graft):
    return [*sets_without(graft)[:-1], "policy.kind=schedule", f"policy.schedule=[{epoch_of(graft)}:{graft.slot}={graft.blueprint}]"]


def by_sample(esper):
    """Adds loss and correctness of each test sample, and what became of the seed."""
    def figures_of(summary, run):
        return {**fate(summary, run), "by_sample": runs.call(esper, ["evaluate", run, "--part", "test", "--by-sample"])["by_sample"]}
    return figures_of


def fate(summary, _):
    return {"seeds": [{name: seed[name] for name in ("stage", "alpha")} for seed in summary["seeds"]]}


def of_samples(ours, theirs):
    """The interval of ours - theirs over the samples, both lists by sample; all equal has no width."""
    return figures.interval([a - b for a, b in zip(ours, theirs, strict=True)])


def truth(with_seed, without):
    """What the network with the seed gained on the test part at the run's end: loss and share of right answers, above 0 if the seed helps."""
    ours, theirs = with_seed["by_sample"], without["by_sample"]
    return {"loss": of_samples(theirs["loss"], ours["loss"]), "accuracy": of_samples(ours["accuracy"], theirs["accuracy"]),
            "present": bool(with_seed["modules"])}


def kept(record):
    """Whether the run decided to keep the graft: it reaches the output of the final network."""
    return {"kept": bool(record["modules"]), "seeds": record["seeds"], "train_s": record["train_s"], "test_accuracy": record["test_accuracy"]}


def of_graft(room, seed, graft, parts):
    """The truth in each form of training, and the verdicts."""
    grown = sets_with(graft)
    without = room.run(seed, "without", sets_without(graft), parts, by_sample(room.esper))
    truths = {form: truth(room.run(seed, f"kept-{form}", [*grown, *sets], parts, by_sample(room.esper)), without)
              for form, sets in TRUTHS.items()}
    verdicts = {name: kept(room.run(seed, name, [*grown, *sets], parts, fate)) for name, (sets, _) in VERDICTS.items()}
    return {"task": graft.task, "graft": graft.name(), "epoch": epoch_of(graft), "without_s": without["train_s"],
            "test_accuracy": without["test_accuracy"], "truths": truths, "verdicts": verdicts}


def experiment(options, entry, write):
    """Adds the grafts that are missing to the entry of evidence.json."""
    began = time.monotonic()
    configs = {task: options.root / f"configs/experiment/growth_{task}.yaml" for task in EPOCHS}
    texts = [runs.settings_text(config) for config in configs.values()]
    settings = hashlib.sha256(json.dumps([texts, EPOCHS, CONTROL_BUDGET, VERDICTS, TRUTHS, [str(graft) for graft in GRAFTS]]).encode()).hexdigest()[:16]
    if entry.get("settings") != settings or options.fresh:
        entry.clear()
        entry.update(settings=settings, grafts={})
    missing = [(seed, graft) for seed, graft in chosen_grafts(options.grafts) if str(seed) not in entry["grafts"]]
    if not missing:
        return
    images = datasets.unpacked(options.images, options.work)
    parts_of = {"digits": lambda seed: datasets.digits_parts(options.root, options.work, seed),
                "cifar10_16": lambda seed: datasets.image_parts(images, options.work, seed, datasets.COUNTS["cifar10_16"])}
    environment = command.environment_of(options.esper, configs["digits"])
    progress = command.Progress("evidence", len(missing) * (1 + len(TRUTHS) + len(VERDICTS)))
    rooms = {task: runs.Room(options.esper, config, options.work / "evidence", progress, options.fresh) for task, config in configs.items()}
    entry.update(command=command_of(options), configs=[str(config.relative_to(options.root)) for config in configs.values()], epochs=EPOCHS,
                 control_budget=CONTROL_BUDGET)

    def one(seed, graft):
        done = {"esper": environment["esper"], **of_graft(rooms[graft.task], seed, graft, parts_of[graft.task](seed))}
        with command.LOCK:
            entry["grafts"] = dict(sorted([*entry["grafts"].items(), (str(seed), done)], key=lambda item: int(item[0])))
            entry["environment"] = {**environment, "minutes": (time.monotonic() - began) / 60}
            write()

    command.at_once(options.jobs, [lambda seed=seed, graft=graft: one(seed, graft) for seed, graft in missing])


def command_of(options):
    words = ["scripts/experiment evidence", "--images", "cifar10-images.tar.gz"]
    words += ["--grafts", str(options.grafts)] if options.grafts != len(GRAFTS) else []
    return " ".join(words)


def run(arguments, root):
    options = parse(arguments, root)
    command.carry_out(options, "evidence", evidence_page, lambda entry, write: experiment(options, entry, write))


if __name__ == "__main__":
    command.main(run)
