"""The work behind `scripts/experiment growth`."""
import argparse
import json
import pathlib
import sys
import time

import arms
import datasets
import page
from datasets import BadInput

COUNTS = {"cifar10": {"train": 4000, "validation": 1000}, "cifar10_16": {"train": 2000, "validation": 1000},
          "cifar10_full": {"train": 45000, "validation": 5000}}
FEWEST_SEEDS = 2
FIRST_SEED = 21  # lower ones and those from 101 on were used while settings were chosen
EXAMPLE = """example:
  scripts/experiment growth --dataset digits --seeds 5
  scripts/experiment growth --images cifar10-images.tar.gz      # digits and CIFAR-10

A run that is finished is kept in the work folder and not repeated, so what was broken off goes on with the same command. One run at a time
and one thread, since their time is compared: let the machine do nothing else."""


def seeds_from(text):
    count = int(text) if text.isdigit() else 0
    if count < FEWEST_SEEDS:
        raise argparse.ArgumentTypeError(f"{text}: an interval needs >= {FEWEST_SEEDS} seeds (default 5)")
    return count


def epochs_from(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be >= 1")
    return int(text)


def parse(arguments, root):
    parser = argparse.ArgumentParser(prog="scripts/experiment growth", epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description="A small host alone, grown by the heuristic, and static of the grown size, over several seeds.")
    parser.add_argument("--dataset", choices=("digits", "cifar10", "cifar10_16", "all"), default="all", help="default: all")
    parser.add_argument("--images", metavar="PATH", help="CIFAR-10 as images: a folder or .tar.gz with train/CLASS/*.jpg and test/CLASS/*.jpg")
    parser.add_argument("--full", action="store_true", help="all of CIFAR-10, on a GPU if available")
    parser.add_argument("--seeds", type=seeds_from, default=5, metavar="N", help="number of seeds, starting at 21; default: 5")
    parser.add_argument("--epochs", type=epochs_from, metavar="N", help="overrides the settings; for a quick test")
    parser.add_argument("--out", type=pathlib.Path, default=root / "docs/experiments", metavar="FOLDER", help="default: docs/experiments")
    parser.add_argument("--work", type=pathlib.Path, default=root / "build/experiment", metavar="FOLDER", help="default: build/experiment")
    parser.add_argument("--esper", type=pathlib.Path, default=root / "build/release/bin/esper", metavar="FILE", help="the built program")
    parser.add_argument("--fresh", action="store_true", help="also repeat finished runs")
    parser.add_argument("--page", action="store_true", help="only write growth.md from growth.json")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser.parse_args(arguments)


def chosen_datasets(options):
    """Names with the seeds' parts as a function; what is missing is said before the first run."""
    root, work = options.root, options.work
    large = "cifar10_full" if options.full else "cifar10"
    if options.full and options.dataset == "digits":
        raise BadInput("--full is CIFAR-10 with all images; use it with --dataset cifar10 or all")
    chosen = {}
    if options.dataset in ("digits", "all"):
        chosen["digits"] = lambda seed: datasets.digits_parts(root, work, seed)
    wanted = {"cifar10": [large], "cifar10_16": ["cifar10_16"], "all": [large, "cifar10_16"]}.get(options.dataset, [])
    if wanted:
        images = datasets.unpacked(options.images, work)
    for name in wanted:
        chosen[name] = lambda seed, name=name: datasets.image_parts(images, work, seed, COUNTS[name])
    return chosen


def environment_of(options, config, began):
    facts = arms.call(options.esper, ["doctor"])
    shown = arms.call(options.esper, ["config", "show", config])
    version = arms.call_text(options.esper, ["--version"]).split()
    gpu = facts["gpus"][0]["name"] if facts["gpus"] else ""
    device = shown["device"]["kind"]
    return {"cpu": facts["cpu"]["model"], "cores": facts["cpu"]["cores"], "torch": facts["torch"]["version"],
            "device": gpu if gpu and device != "cpu" else "cpu", "threads": shown["device"]["threads"], "lane": shown["step"]["lane"],
            "esper": " ".join(version[1:4]), "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "minutes": (time.monotonic() - began) / 60, "epochs": shown["epochs"]}


class Progress:
    """One line on stderr for each finished run; plain, on a terminal too."""

    def __init__(self, name, runs):
        self.name, self.runs, self.done = name, runs, 0

    def __call__(self, text, record):
        self.done += 1
        print(f"{self.name} {self.done}/{self.runs}  {text}, {record['epochs']} epochs, {record['parameters']} parameters, "
              f"test {100 * record['test_accuracy']:.2f} %", file=sys.stderr, flush=True)


def experiment(options, name, parts_of):
    """The entry of one data set in growth.json."""
    began = time.monotonic()
    config = options.root / f"configs/experiment/growth_{name}.yaml"
    environment = environment_of(options, config, began)
    room = arms.Room(options.esper, config, options.work, Progress(name, len(arms.ARMS) * options.seeds),
                     options.fresh)
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    records = [arms.all_arms(room, seed, parts_of(seed), options.epochs or environment["epochs"]) for seed in seeds]
    environment["minutes"] = (time.monotonic() - began) / 60
    data = {part: sum(1 for _ in open(path)) if path.is_file() else sum(1 for _ in path.glob("*/*"))
            for part, path in parts_of(FIRST_SEED).items()}
    return {"config": str(config.relative_to(options.root)), "command": command_of(options, name), "data": data, "environment": environment,
            "records": records}


def command_of(options, name):
    words = ["scripts/experiment growth", "--dataset", "cifar10" if name == "cifar10_full" else name, "--seeds", str(options.seeds)]
    words += ["--images", "cifar10-images.tar.gz"] if name != "digits" else []
    words += ["--full"] if name == "cifar10_full" else []
    words += ["--epochs", str(options.epochs)] if options.epochs else []
    return " ".join(words)


def kept_report(path):
    if not path.exists():
        return {}
    try:
        report = json.loads(path.read_text())
        page.markdown(report)
        return report
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadInput(f"{path} was not written by this script ({error!r}); git checkout it, or remove it") from error


def write(options, report):
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "growth.json").write_text(json.dumps(report, indent=1) + "\n")
    (options.out / "growth.md").write_text(page.markdown(report))


def run(options):
    report = kept_report(options.out / "growth.json")
    if options.page and not report:
        raise BadInput(f"{options.out}/growth.json does not exist; run the experiment first, without --page")
    if not options.page:
        arms.check_binary(options.esper)
        for name, parts_of in chosen_datasets(options).items():
            report[name] = experiment(options, name, parts_of)
            write(options, report)  # at once: what comes after may be broken off
    write(options, report)
    if options.json:
        print(json.dumps(page.summaries_of(report), indent=2))
        return
    print(*page.readme(report), sep="\n")
    print(f"experiment: wrote {options.out}/growth.md and growth.json; the lines above are what README.md quotes", file=sys.stderr)


def main():
    root = pathlib.Path(sys.argv[1])
    options = parse(sys.argv[2:], root)
    options.root, options.work, options.esper = root, options.work.resolve(), options.esper.resolve()
    try:
        run(options)
    except BadInput as error:
        sys.exit(f"experiment: {error}")
    except KeyboardInterrupt:
        sys.exit("experiment: broken off; the same command goes on with the runs that are left")


if __name__ == "__main__":
    main()
