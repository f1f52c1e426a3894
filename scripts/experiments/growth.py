"""The work behind `scripts/experiment growth`."""
import time

import arms
import command
import datasets
import growth_page
import runs
from datasets import BadInput

FIRST_SEED = 21  # lower ones and those from 101 on were used while settings were chosen
EXAMPLE = """example:
  scripts/experiment growth --dataset digits --seeds 5
  scripts/experiment growth --images cifar10-images.tar.gz      # digits and CIFAR-10

A run that is finished is kept in the work folder and not repeated, so what was broken off goes on with the same command. One thread a run;
their time is compared: let the machine do nothing else, and --jobs be no more than its cores."""


def parse(arguments, root):
    parser = command.parser_of("growth", "A small host alone, grown by the heuristic, and static of the grown size, over several seeds.",
                               EXAMPLE, root)
    command.add_seeds(parser, FIRST_SEED, 5)
    parser.add_argument("--dataset", choices=("digits", "cifar10", "cifar10_16", "all"), default="all", help="default: all")
    parser.add_argument("--images", metavar="PATH", help=datasets.IMAGES_HELP)
    parser.add_argument("--full", action="store_true", help="all of CIFAR-10, on a GPU if available")
    parser.add_argument("--epochs", type=command.whole_number(1), metavar="N", help="overrides the settings; for a quick test")
    parser.add_argument("--jobs", type=command.whole_number(1), default=1, metavar="N", help="seeds side by side; default: 1")
    return command.options_of(parser, arguments, root)


def chosen_datasets(options):
    """Names with the seeds' parts as a function; what is missing is said before the first run."""
    root, work = options.root, options.work
    large = "cifar10_full" if options.full else "cifar10"
    if options.epochs and options.epochs < arms.FEWEST_EPOCHS:
        raise BadInput(f"--epochs {options.epochs}: must be >= {arms.FEWEST_EPOCHS}, so that a tenth of them, which is for controls, is an epoch")
    if options.full and options.dataset == "digits":
        raise BadInput("--full is CIFAR-10 with all images; use it with --dataset cifar10 or all")
    chosen = {}
    if options.dataset in ("digits", "all"):
        chosen["digits"] = lambda seed: datasets.digits_parts(root, work, seed)
    wanted = {"cifar10": [large], "cifar10_16": ["cifar10_16"], "all": [large, "cifar10_16"]}.get(options.dataset, [])
    if wanted:
        images = datasets.unpacked(options.images, work, datasets.DIGITS_INSTEAD)
    for name in wanted:
        chosen[name] = lambda seed, name=name: datasets.image_parts(images, work, seed, datasets.COUNTS[name])
    return chosen


def experiment(options, name, parts_of):
    """The entry of one data set in growth.json."""
    began = time.monotonic()
    config = options.root / f"configs/experiment/growth_{name}.yaml"
    environment = command.environment_of(options.esper, config)
    room = runs.Room(options.esper, config, options.work, command.Progress(name, arms.RUNS * options.seeds), options.fresh)
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    data = datasets.counts_of(parts_of(FIRST_SEED))  # before the seeds' own parts, which are made side by side
    epochs = options.epochs or environment["epochs"]
    records = command.at_once(options.jobs, [lambda seed=seed: arms.all_arms(room, seed, parts_of(seed), epochs) for seed in seeds])
    environment["minutes"] = (time.monotonic() - began) / 60
    return {"config": str(config.relative_to(options.root)), "command": command_of(options, name), "data": data, "environment": environment,
            "records": records}


def command_of(options, name):
    words = ["scripts/experiment growth", "--dataset", "cifar10" if name == "cifar10_full" else name, "--seeds", str(options.seeds)]
    words += ["--images", "cifar10-images.tar.gz"] if name != "digits" else []
    words += ["--full"] if name == "cifar10_full" else []
    words += ["--epochs", str(options.epochs)] if options.epochs else []
    words += ["--jobs", str(options.jobs)] if options.jobs != 1 else []
    return " ".join(words)


def run(arguments, root):
    options = parse(arguments, root)

    def experiments(content, write):
        for name, parts_of in chosen_datasets(options).items():
            content[name] = experiment(options, name, parts_of)
            write()  # at once: what comes after may be broken off

    command.carry_out(options, "growth", growth_page, experiments)


if __name__ == "__main__":
    command.main(run)
