"""What the commands of `scripts/experiment` share: options, the machine's description, the report and its page."""
import argparse
import concurrent.futures
import contextlib
import fcntl
import hashlib
import json
import pathlib
import sys
import threading
import time

import runs
from datasets import BadInput

FEWEST_SEEDS = 2
EXIT_TRY_AGAIN = 75
LOCK = threading.Lock()  # of a report that several threads add to


class Busy(Exception):
    """Another process is at it; the text says what helps."""


def whole_number(least, why=""):
    """An argparse type."""
    def number(text):
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text}: {why or f'must be >= {least}'}")
        return int(text)
    return number


def parser_of(name, description, example, root):
    """With the options that every experiment has."""
    parser = argparse.ArgumentParser(prog=f"scripts/experiment {name}", epilog=example, description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    file = name.replace("-", "_")
    parser.add_argument("--out", type=pathlib.Path, default=root / "docs/experiments", metavar="FOLDER", help="default: docs/experiments")
    parser.add_argument("--work", type=pathlib.Path, default=root / "build/experiment", metavar="FOLDER", help="default: build/experiment")
    parser.add_argument("--esper", type=pathlib.Path, default=root / "build/release/bin/esper", metavar="FILE", help="the built program")
    parser.add_argument("--fresh", action="store_true", help="also repeat finished runs")
    parser.add_argument("--page", action="store_true", help=f"only write {file}.md from {file}.json")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser


def add_seeds(parser, first, default, described=""):
    """described: the default, where it is not one number."""
    parser.add_argument("--seeds", default=default, metavar="N",
                        type=whole_number(FEWEST_SEEDS, f"an interval needs >= {FEWEST_SEEDS} seeds (default {default or described})"),
                        help=f"number of seeds, starting at {first}; default: {default or described}")


def options_of(parser, arguments, root):
    options = parser.parse_args(arguments)
    options.root, options.work, options.esper = root, options.work.resolve(), options.esper.resolve()
    return options


def environment_of(esper, config):
    """The machine, the program, and what of the settings a time depends on."""
    facts = runs.call(esper, ["doctor"])
    shown = runs.call(esper, ["config", "show", config])
    version = runs.call_text(esper, ["--version"]).split()
    gpu = facts["gpus"][0]["name"] if facts["gpus"] else ""
    device = shown["device"]["kind"]
    return {"cpu": facts["cpu"]["model"], "cores": facts["cpu"]["cores"], "torch": facts["torch"]["version"],
            "device": gpu if gpu and device != "cpu" else "cpu", "threads": shown["device"]["threads"], "lane": shown["step"]["lane"],
            "esper": " ".join(version[1:4]), "date": time.strftime("%Y-%m-%d", time.gmtime()), "epochs": shown["epochs"]}


class Report:
    """NAME.json and NAME.md, which `page` makes of it."""

    def __init__(self, folder, name, page):
        self.path, self.page = folder / f"{name}.json", page

    def read(self):
        if not self.path.exists():
            return {}
        try:
            content = json.loads(self.path.read_text())
            self.page.markdown(content)
            return content
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise BadInput(f"{self.path} was not written by this script ({error!r}); git checkout it, or remove it") from error

    def require(self, content):
        if not content:
            raise BadInput(f"{self.path} does not exist; run the experiment first, without --page")

    def write(self, content):
        runs.write_whole(self.path, content)
        self.path.with_suffix(".md").write_text(self.page.markdown(content))


@contextlib.contextmanager
def locked(file, what, option):
    """Until the block and every run that was started in it have ended."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy(f"another process uses {what}; wait until it has ended, or name another folder with {option}") from error
        runs.KEPT_OPEN.append(opened.fileno())
        try:
            yield
        finally:
            runs.KEPT_OPEN.remove(opened.fileno())


def locked_report(options, name):
    """The lock lies in build/, so that none is left among the pages."""
    place = hashlib.sha256(str(options.out.resolve()).encode()).hexdigest()[:8]
    return locked(options.root / f"build/experiment-{name}-{place}.lock", options.out / f"{name}.json", "--out")


def carry_out(options, name, page, experiment):
    """experiment(content, write) adds to NAME.json; with --page it stays as it is. Page: the module with its markdown, summarise and readme."""
    report = Report(options.out, name, page)
    with locked_report(options, name):
        content = report.read()
        if options.page:
            report.require(content)
        else:
            runs.check_binary(options.esper)
            with locked(options.work / "lock", options.work, "--work"):
                experiment(content, lambda: report.write(content))
        report.write(content)
    if options.json:
        print(json.dumps(page.summarise(content), indent=2))
        return
    print(*page.readme(content), sep="\n")
    print(f"experiment: wrote {report.path.with_suffix('.md')} and {report.path.name}; above is its summary",
          file=sys.stderr)


def at_once(jobs, calls):
    """What the calls return, in their order; so many of them at a time."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        started = [pool.submit(call) for call in calls]
        try:
            return [future.result() for future in started]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class Progress:
    """One line on stderr for each finished run; plain, on a terminal too."""

    def __init__(self, name, total):
        self.name, self.total, self.done = name, total, 0

    def __call__(self, text, record):
        self.done += 1
        print(f"{self.name} {self.done}/{self.total}  {text}, {record['epochs']} epochs, {record['parameters']} parameters, "
              f"test {100 * record['test_accuracy']:.2f} %", file=sys.stderr, flush=True)


def main(run_of):
    """run_of(arguments, root) does the work."""
    runs.end_with_this_script()
    try:
        run_of(sys.argv[2:], pathlib.Path(sys.argv[1]))
    except BadInput as error:
        sys.exit(f"experiment: {error}")
    except Busy as error:
        print(f"experiment: {error}", file=sys.stderr)
        sys.exit(EXIT_TRY_AGAIN)
    except KeyboardInterrupt:
        sys.exit("experiment: broken off; the same command goes on with the runs that are left")
