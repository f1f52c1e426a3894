"""The work behind `scripts/experiment size-search`."""
import hashlib
import json
import math
import time

import command
import datasets
import runs
import size_search_page
from accuracies import training_s

FIRST_SEED = 31
SEEDS = {"digits": 10, "cifar10": 5, "cifar10_16": 6}  # by default
# From no module to more than the default policy grows here.
SIZES = {
    "digits": ("", "r0c0=conv_light", "r0c0=conv_heavy", "r0c0=conv_heavy; base_channels=32"),
    "cifar10": ("", "r0c2=conv_light", "r0c2=conv_light, r0c1=depthwise", "r0c2=conv_heavy, r0c1=conv_heavy"),
    "cifar10_16": ("", "r0c2=conv_light", "r0c2=conv_light, r0c1=depthwise", "r0c2=conv_heavy, r0c1=conv_heavy"),
}
CALIBRATION_EPOCHS = 3
EXAMPLE = """example:
  scripts/experiment size-search --dataset digits
  scripts/experiment size-search --images cifar10-images.tar.gz --free

A seed that is finished is kept in size_search.json and a run in the work folder, so what was broken off goes on with the same command, and a
larger --seeds adds seeds. One thread a run; let the machine do nothing else, since times are compared."""


def parse(arguments, root):
    parser = command.parser_of("size-search", "One grown run against a search over four static sizes that takes the same time in all.",
                               EXAMPLE, root)
    command.add_seeds(parser, FIRST_SEED, None, ", ".join(f"{name} {count}" for name, count in SEEDS.items()))
    parser.add_argument("--dataset", choices=(*SIZES, "all"), default="all", help="default: all")
    parser.add_argument("--images", metavar="PATH", help=datasets.IMAGES_HELP)
    parser.add_argument("--free", action="store_true", help="also train each size for all of the time: a search that costs nothing")
    parser.add_argument("--epochs", type=command.whole_number(1), metavar="N", help="of the grown run; overrides the settings, for a quick test")
    parser.add_argument("--jobs", type=command.whole_number(1), default=1, metavar="N", help="seeds side by side; default: 1")
    return command.options_of(parser, arguments, root)


def size_sets(size):
    """The settings of a static size; what follows the semicolon is of the host."""
    modules, _, host = size.partition("; ")
    return [*runs.WITHOUT_GROWTH, f"host.modules=[{modules}]", *([f"host.{host}"] if host else [])]


def plan(epoch_s, budget_s, samples, batch):
    """(epochs, samples in each) that take the time: whole epochs, a little shorter ones where it is no multiple. epoch_s: of a whole epoch."""
    share = budget_s / epoch_s
    epochs = max(1, math.ceil(share))
    return epochs, max(min(batch, samples), round(samples * share / epochs))


class Search:
    """The runs of one seed of one data set."""

    def __init__(self, room, seed, parts, sizes, samples, batch):
        self.room, self.seed, self.parts, self.sizes, self.samples, self.batch = room, seed, parts, sizes, samples, batch
        self.epoch_s = {}

    def run(self, name, sets):
        return self.room.run(self.seed, name, sets, self.parts)

    def calibrate(self):
        """A short run of each size. Not charged to the search."""
        for i, size in enumerate(self.sizes):
            record = self.run(f"calibration-{i}", [*size_sets(size), f"epochs={CALIBRATION_EPOCHS}"])
            self.epoch_s[size] = training_s(record) / CALIBRATION_EPOCHS

    def static(self, name, size, budget_s):
        """A run of this size and time. What it measures refines what an epoch is known to take."""
        epochs, samples = plan(self.epoch_s[size], budget_s, self.samples, self.batch)
        record = self.run(f"{name}-{self.sizes.index(size)}", [*size_sets(size), f"epochs={epochs}", f"data.epoch_samples={samples}"])
        self.epoch_s[size] = training_s(record) * self.samples / (epochs * samples)
        return {**record, "size": size, "epoch_samples": samples}

    def tried(self, name, budget_s):
        """Every size for a share of the time."""
        return [self.static(name, size, budget_s / len(self.sizes)) for size in self.sizes]


def best_of(records):
    """By the validation part: accuracy, and where that is equal, loss."""
    return max(records, key=lambda record: (record["validation_accuracy"], -record["validation_loss"]))


def of_seed(search, grown_sets, free):
    """{arm: {"chosen": record, "tried": [records]}} of one seed, and the grown run."""
    grown = search.run("grown", grown_sets)
    budget_s = training_s(grown)
    search.calibrate()
    quarters = search.tried("quarter", budget_s)
    eighths = search.tried("eighth", budget_s / 2)
    again = search.static("half", best_of(eighths)["size"], budget_s / 2)
    arms = {"quarters": {"chosen": best_of(quarters), "tried": quarters}, "halving": {"chosen": again, "tried": [*eighths, again]}}
    if free:
        whole = [search.static("whole", size, budget_s) for size in search.sizes]
        arms["free"] = {"chosen": best_of(whole), "tried": whole}
    return {"grown": grown, **arms}


def parts_function(options, name):
    root, work = options.root, options.work
    if name == "digits":
        return lambda seed: datasets.digits_parts(root, work, seed)
    images = datasets.unpacked(options.images, work, datasets.DIGITS_INSTEAD)
    return lambda seed: datasets.image_parts(images, work, seed, datasets.COUNTS[name])


def experiment(options, name, parts_of, entry, write):
    """Adds the seeds that are missing to the entry of one data set; writes after each."""
    began = time.monotonic()
    config = options.root / f"configs/experiment/growth_{name}.yaml"
    environment = command.environment_of(options.esper, config)
    epochs, batch = options.epochs or environment["epochs"], runs.call(options.esper, ["config", "show", config])["data"]["batch_size"]
    settings = hashlib.sha256(json.dumps([runs.settings_text(config), SIZES[name], epochs, options.free]).encode()).hexdigest()[:16]
    if entry.get("settings") != settings or options.fresh:
        entry.clear()
        entry.update(settings=settings, seeds={})
    count = options.seeds or SEEDS[name]
    missing = [seed for seed in range(FIRST_SEED, FIRST_SEED + count) if str(seed) not in entry["seeds"]]
    entry.update(config=str(config.relative_to(options.root)), command=command_of(options, name, count), sizes=SIZES[name],
                 data=datasets.counts_of(parts_of(FIRST_SEED)), environment=entry.get("environment", {**environment, "minutes": 0}))
    each = 1 + 3 * len(SIZES[name]) + 1 + (len(SIZES[name]) if options.free else 0)
    room = runs.Room(options.esper, config, options.work / "size-search", command.Progress(name, each * len(missing)), options.fresh)

    def one(seed):
        search = Search(room, seed, parts_of(seed), SIZES[name], entry["data"]["train"], batch)
        records = of_seed(search, [f"epochs={epochs}"], options.free)
        with command.LOCK:
            entry["seeds"] = dict(sorted([*entry["seeds"].items(), (str(seed), {"esper": environment["esper"], **records})],
                                         key=lambda item: int(item[0])))
            entry["environment"] = {**environment, "minutes": (time.monotonic() - began) / 60}
            write()

    command.at_once(options.jobs, [lambda seed=seed: one(seed) for seed in missing])


def command_of(options, name, seeds):
    words = ["scripts/experiment size-search", "--dataset", name, "--seeds", str(seeds)]
    words += ["--images", "cifar10-images.tar.gz"] if name != "digits" else []
    words += ["--free"] if options.free else []
    words += ["--jobs", str(options.jobs)] if options.jobs != 1 else []
    words += ["--epochs", str(options.epochs)] if options.epochs else []
    return " ".join(words)


def run(arguments, root):
    options = parse(arguments, root)

    def experiments(content, write):
        chosen = list(SIZES) if options.dataset == "all" else [options.dataset]
        for name, parts_of in [(name, parts_function(options, name)) for name in chosen]:
            entry = content.get(name, {})

            def write_entry(name=name, entry=entry):
                content[name] = entry
                write()
            experiment(options, name, parts_of, entry, write_entry)
            write_entry()

    command.carry_out(options, "size_search", size_search_page, experiments)


if __name__ == "__main__":
    command.main(run)
