"""What the pages of `scripts/experiment` share."""

TITLES = {"digits": "Digits", "cifar10": "CIFAR-10, small", "cifar10_full": "CIFAR-10, all of it",
          "cifar10_16": "CIFAR-10 at 16 x 16 pixels"}
BUSY = 1.15  # wall over processor time of one run from which its time is called rough
FEW = 5      # seeds


def spread(values, form):
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def few_seeds(count):
    return "" if count >= FEW else f"**Only {count} seeds: a first look, no result.**"


def machine(environment, versions=None):
    """`versions`: of Esper, where the records are of several."""
    esper = ", ".join(versions) if versions else environment["esper"]
    return (f"{environment['cpu']}, {environment['cores']} cores, {environment['device']}, {environment['threads']} thread, lane "
            f"{environment['lane']}, torch {environment['torch']}, Esper {esper}, {environment['date']}. "
            f"The last call took {environment['minutes']:.0f} minutes.")


def busiest(records):
    return max(record["wall_over_cpu"] for record in records)


def signed(difference, form, scale=1):
    """mean, low to high: two cells."""
    mean, low, high = (form.format(scale * difference[name]) for name in ("mean", "low", "high"))
    return f"{mean} | {low} to {high}"


def again(commands):
    return ["## Again", "", *(f"    {command}" for command in commands), "",
            "Runs that are finished are kept in the work folder and not repeated; `--fresh` begins anew."]
