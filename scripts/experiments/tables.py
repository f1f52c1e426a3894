"""Tables and figures as the pages of `scripts/experiment` print them."""


def row(cells):
    return "|" + "".join(f" {cell} |" if cell != "" else " |" for cell in cells)


def table(header, rows):
    """The lines of a table; `rows` of cells."""
    return [row(header), "|---" * len(header) + "|", *map(row, rows)]


def spread(values, form):
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def plus_minus(figures, form, scale=1):
    return f"{form.format(scale * figures['mean'])} ± {form.format(scale * figures['half'])}"


def formatted(figures, form, scale):
    return (form.format(scale * figures[name]) for name in ("mean", "low", "high"))


def mean_and_ends(figures, form, scale=1):
    """Two cells."""
    mean, low, high = formatted(figures, form, scale)
    return mean, f"{low} to {high}"


def bracketed(figures, form, scale=1, unit=""):
    """The same in a sentence: mean [low, high]."""
    mean, low, high = formatted(figures, form, scale)
    return f"{mean}{unit} [{low}, {high}]"


def tested(difference, form, scale=1):
    """Three cells: mean, interval and p."""
    return *mean_and_ends(difference, form, scale), f"{difference['p']:.3g}"
