"""docs/experiments/size_search.md and the lines for the README, made from size_search.json alone."""
import statistics

import accuracies
from accuracies import TITLES, percent, training_s
from figures import interval, paired
from frame import PROCESSOR_TIMES, few_seeds, machine, other_work, page
from tables import table

ARMS = {
    "quarters": "four static sizes, a quarter of the time each; the best on validation",
    "halving": "four static sizes, an eighth of the time each; the best on validation once more, for half of the time",
    "free": "for reference, four times the time: four static sizes, all of the time each; the best on validation",
}
RIVALS = ("quarters", "halving")  # what the claim is about
TOLERANCE = 0.02

INTRODUCTION = """Who does not know how large a network should be can let one grow, or try several sizes. Here one run is **grown** by the heuristic with its default
settings, and against it the best of four static sizes is searched on the validation part **in the same time in all**:

{protocols}

What counts is the test accuracy of the network that the search chooses. The sizes go from the host alone to more than what usually grows. The learning rate
follows one cosine to zero over each run's own budget; all other settings are equal. A budget that is not a multiple of an epoch's time is met with shorter epochs
(`data.epoch_samples`). How long an epoch of a size takes is measured in a short run before, which is not charged to the search.

Time is the processor time of the training process without start-up and checkpoints; it includes validation after each epoch, and for the grown run all costs of
growing. Each seed draws its own training, validation and test part; the test part is read by `esper evaluate` after a run's last step. Accuracies are on the
test part, in percent. Intervals are 95 % Student's t intervals over the seeds, differences are taken seed by seed; p is corrected for all comparisons on
this page (Holm). {seeds_note}
"""

CAVEATS = """- Four sizes on one axis. A search with more sizes needs more time; one that starts with a good guess needs less.
- The search gets sizes that suit the task: they were chosen knowing what grows. Some are the very modules that the policy may grow.
- The third row is not a competitor: it takes four times the time.
- {seeds} seeds and more: "not shown" is not "equal".
- The figures are those of the commit named with them. In later versions gate G2 counts the gradient of fossils as the host's. A new call may grow other
  modules.
"""


def search_s(arm):
    return sum(training_s(record) for record in arm["tried"])


def arms_of(entry):
    return accuracies.arms_in(ARMS, entry["seeds"].values())


def size_name(size):
    return size or "host alone"


def summary_of(entry):
    seeds = list(entry["seeds"].values())
    ours = [of_seed["grown"]["test_accuracy"] for of_seed in seeds]
    summary = {"grown": {"test_accuracy": interval(ours), "time_s": interval([training_s(of_seed["grown"]) for of_seed in seeds])},
               "arms": {}, "differences": {}}
    for arm in arms_of(entry):
        theirs = [of_seed[arm]["chosen"]["test_accuracy"] for of_seed in seeds]
        ratios = [search_s(of_seed[arm]) / training_s(of_seed["grown"]) for of_seed in seeds]
        summary["arms"][arm] = {"test_accuracy": interval(theirs), "time_s": interval([search_s(of_seed[arm]) for of_seed in seeds]),
                                "of_grown": statistics.fmean(ratios)}
        if arm in RIVALS:
            summary["differences"][arm] = paired(ours, theirs)
    return summary


def summarise(report):
    return accuracies.summaries_of(report, summary_of)


def arm_rows(entry, summary):
    grown = summary["grown"]
    yield "grown", f"{grown['time_s']['mean']:.2f}", 1, percent(grown["test_accuracy"]), ""
    for arm, figures in summary["arms"].items():
        chosen = [size_name(of_seed[arm]["chosen"]["size"]) for of_seed in entry["seeds"].values()]
        counts = "; ".join(f"{size}: {chosen.count(size)}" for size in map(size_name, entry["sizes"]) if size in chosen)
        yield ARMS[arm], f"{figures['time_s']['mean']:.2f}", f"{figures['of_grown']:.3f}", percent(figures["test_accuracy"]), counts


def seed_rows(entry, arms):
    for seed, of_seed in entry["seeds"].items():
        cells = (f"{100 * of_seed[arm]['chosen']['test_accuracy']:.2f} ({size_name(of_seed[arm]['chosen']['size'])})" for arm in arms)
        grown = of_seed["grown"]
        yield seed, f"{100 * grown['test_accuracy']:.2f} ({', '.join(grown['modules']) or 'nothing'})", *cells


def records_of(entry):
    for of_seed in entry["seeds"].values():
        yield of_seed["grown"]
        for arm in arms_of(entry):
            yield from of_seed[arm]["tried"]


def time_line(summary):
    off = max(abs(summary["arms"][arm]["of_grown"] - 1) for arm in RIVALS)
    return (f"On average the searches took the grown run's time within {100 * off:.1f} %." if off <= TOLERANCE else
            f"**On average a search took {100 * off:.1f} % more or less than the grown run's time**, more than the 2 % that were intended.")


def section(name, entry, summary):
    arms = arms_of(entry)
    sizes = "; ".join(f"({i}) {size_name(size)}" for i, size in enumerate(entry["sizes"], 1))
    yield from accuracies.head(name, entry, len(entry["seeds"]), f" Sizes: {sizes}.")
    yield from (machine(entry["environment"], entry["seeds"].values()), time_line(summary), *other_work(records_of(entry), PROCESSOR_TIMES), "")
    yield from table(("", "time, s", "of grown's", "test accuracy, %", "how often which size was chosen"), arm_rows(entry, summary))
    yield from ("", *accuracies.difference_table("grown minus the search's choice", summary["differences"]), "")
    yield from table(("seed", "grown", *arms), seed_rows(entry, arms))


def markdown(report):
    fewest = min(len(entry["seeds"]) for entry in report.values())
    protocols = "\n".join(f"- **{arm}**: {ARMS[arm]}." for arm in RIVALS)
    introduction = INTRODUCTION.format(seeds_note=few_seeds(fewest), protocols=protocols)
    sections = accuracies.sections(report, summarise(report), section)
    return page("One grown run, or a search for the size?", "size-search", [introduction, *sections], CAVEATS.format(seeds=fewest),
                [entry["command"] for entry in report.values()])


def readme(report):
    """The lines that the README may quote."""
    summaries = summarise(report)
    yield from accuracies.readme_table({"grown": "one grown run", **ARMS},
                                       {name: {"grown": summary["grown"], **summary["arms"]} for name, summary in summaries.items()})
    for name, summary in summaries.items():
        yield from ("", f"{TITLES[name]}: grown minus ...", *accuracies.readme_differences(summary["differences"]))
