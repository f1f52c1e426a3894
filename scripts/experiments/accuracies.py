"""Comparisons of test accuracies on several data sets: growth and size-search."""
from figures import correct, verdict
from tables import bracketed, plus_minus, table, tested

TITLES = {"digits": "Digits", "cifar10": "CIFAR-10, small", "cifar10_full": "CIFAR-10, all of it",
          "cifar10_16": "CIFAR-10 at 16 x 16 pixels"}


def arms_in(names, seeds):
    """Those of which every seed has a record."""
    return [arm for arm in names if all(arm in of_seed for of_seed in seeds)]


def percent(figures):
    return plus_minus(figures, "{:.2f}", 100)


def said(difference):
    return {1: "grown is better: shown", -1: "grown is worse: shown", 0: "not shown"}[verdict(difference)]


def summaries_of(report, summary_of):
    """By data set; p corrected for all comparisons of all of them."""
    summaries = {name: summary_of(report[name]) for name in TITLES if name in report}
    correct([difference for summary in summaries.values() for difference in summary["differences"].values()])
    return summaries


def head(name, entry, seeds, more=""):
    """Of a data set's section; `more` ends the line that describes it."""
    data = entry["data"]
    return [f"## {TITLES[name]}", "",
            f"{data['train']} training, {data['validation']} validation and {data['test']} test samples; settings: `{entry['config']}`; "
            f"{seeds} seeds.{more}", ""]


def sections(report, summaries, section):
    """The lines of section(name, entry, summary) of each data set."""
    for name, summary in summaries.items():
        yield from (*section(name, report[name], summary), "")


def difference_table(first, differences):
    """differences: by the name of what is compared; `first` heads these names."""
    def cells(name, difference):
        ties = f", {difference['ties']} equal" if difference["ties"] else ""
        return name, *tested(difference, "{:+.2f}", 100), f"{difference['wins']} of {difference['n']}{ties}", said(difference)
    return table((first, "mean, points", "95 % interval", "p", "grown ahead in", ""), (cells(*item) for item in differences.items()))


def readme_table(arms, summaries):
    """arms: their names; summaries: by data set, of each arm that it has."""
    cells = {arm: [percent(of_arms[arm]["test_accuracy"]) if arm in of_arms else "-" for of_arms in summaries.values()] for arm in arms}
    return table(("test accuracy, %, mean ± 95 % interval", *(TITLES[name] for name in summaries)),
                 ((arms[arm], *figures) for arm, figures in cells.items() if set(figures) != {"-"}))


def readme_differences(differences):
    for name, difference in differences.items():
        yield f"- {name}: {bracketed(difference, '{:+.2f}', 100, ' points')}, {said(difference)}"
