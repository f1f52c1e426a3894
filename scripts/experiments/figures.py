"""Mean, 95 % interval and paired differences over seeds. Student's t, standard library only."""
import math
import statistics


def beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function (Lentz; Numerical Recipes 6.4)."""
    tiny, c = 1e-300, 1.0
    d = 1.0 / max(abs(1 - (a + b) * x / (a + 1)), tiny)
    h = d
    for m in range(1, 300):
        for step in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / (1 + step * d or tiny)
            c = 1 + step / c or tiny
            h *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return h


def beta_share(a, b, x):
    """Regularised incomplete beta function."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a
    return 1 - front * beta_fraction(b, a, 1 - x) / b


def t_quantile(degrees, two_sided=0.95):
    """t with P(|T| < t) = two_sided."""
    low, high = 0.0, 1e4
    for _ in range(200):
        middle = (low + high) / 2
        inside = 1 - beta_share(degrees / 2, 0.5, degrees / (degrees + middle * middle))
        low, high = (middle, high) if inside < two_sided else (low, middle)
    return (low + high) / 2


def interval(values):
    """{mean, half, low, high, n}: the t interval of the mean; one value says nothing about its spread, so its interval has no ends."""
    mean = statistics.fmean(values)
    if len(values) == 1:
        return {"mean": mean, "half": math.inf, "low": -math.inf, "high": math.inf, "n": 1}
    half = t_quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return {"mean": mean, "half": half, "low": mean - half, "high": mean + half, "n": len(values)}


def paired(ours, theirs):
    """The interval of ours - theirs, seed by seed, and in how many seeds ours is the larger."""
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    return {**interval(differences), "p": p_value(differences), "wins": sum(d > 0 for d in differences), "ties": sum(d == 0 for d in differences)}


def p_value(values):
    """Two-sided p of Student's t test that the mean is 0; 1 where one value cannot show it."""
    if len(values) == 1:
        return 1.0
    mean, deviation = statistics.fmean(values), statistics.stdev(values)
    if deviation == 0:
        return float(mean == 0)
    degrees, t = len(values) - 1, mean / (deviation / math.sqrt(len(values)))
    return beta_share(degrees / 2, 0.5, degrees / (degrees + t * t))


def holm(p_values):
    """The same p values, corrected for their number (Holm 1979), in the same order."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[i] * (len(p_values) - rank)))
        corrected[i] = largest
    return corrected


def correct(tests):
    """Replaces each test's p by the one that is corrected for all of them."""
    for test, corrected in zip(tests, holm([test["p"] for test in tests])):
        test["p"] = corrected


def verdict(difference):
    """+1 or -1 where the difference is not 0 with 95 % confidence, all comparisons together; else 0."""
    return ((difference["mean"] > 0) - (difference["mean"] < 0)) * (difference["p"] < 0.05)


def sign_test(ahead, behind):
    """Two-sided p that of differing pairs as many fall either way (McNemar's exact test)."""
    count, fewer = ahead + behind, min(ahead, behind)
    return min(1.0, 2 * sum(math.comb(count, k) for k in range(fewer + 1)) / 2**count)
