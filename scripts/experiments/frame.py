"""What every page of `scripts/experiment` begins and ends with, and what it says about the machine."""

BUSY = 1.15  # wall over processor time of one run from which its time is called rough
FEW = 5      # seeds
PROCESSOR_TIMES = ". Times are the processor's, so they are rough only as far as the runs slowed each other down."


def page(title, name, body, caveats, commands):
    """The text of a page; body: its lines, from the introduction on."""
    command, file = f"scripts/experiment {name}", f"{name.replace('-', '_')}.json"
    lines = [f"# {title}", "", f"Written by `{command}` from `{file}`; do not edit. `{command} --page` regenerates it.", "", *body,
             "## What this does not say", "", caveats,
             "## Again", "", *(f"    {again}" for again in commands), "",
             "Runs that are finished are kept in the work folder and not repeated; `--fresh` starts again."]
    return "\n".join(lines) + "\n"


def few_seeds(count):
    return "" if count >= FEW else f"**Only {count} seeds: a first look, no result.**"


def machine(environment, measured=()):
    """`measured`: what names the version of Esper that it was measured with, where those may differ."""
    esper = ", ".join(sorted({one["esper"] for one in measured})) or environment["esper"]
    return (f"{environment['cpu']}, {environment['cores']} cores, {environment['device']}, {environment['threads']} thread, lane "
            f"{environment['lane']}, torch {environment['torch']}, Esper {esper}, {environment['date']}. "
            f"The last call took {environment['minutes']:.0f} minutes.")


def other_work(records, consequence):
    """A line, if the machine had other work during one of the runs."""
    clock = max(record["wall_over_cpu"] for record in records)
    if clock > BUSY:
        yield f"**The machine had other work**: in the worst run the clock ran {clock:.2f} times as long as the processor worked{consequence}"
