"""Adds up a ctest JUnit report: why test cases were skipped, the slowest ones, programs, Catch2 test cases and assertions, seconds.
Last line: "N passed, N failed" test cases.

A program that is no Catch2 program, or that ended before it could sum up, counts as one test case."""

import collections
import re
import sys
import xml.etree.ElementTree

ALL_PASSED = re.compile(r"All tests passed \((\d+) assertions? in (\d+) test cases?\)")
TOOK = re.compile(r"^(\d+\.\d+) s: (.+)$", re.MULTILINE)
SLOWEST = 15
SKIPPED = re.compile(r": SKIPPED:\n(?:explicitly with message:\n)?((?:  .*\n?)*)")
MIXED = re.compile(r"^(test cases|assertions): +(\d+)(.*)$", re.MULTILINE)


def counted(word, text):
    found = re.search(r"(\d+) " + word, text)
    return int(found.group(1)) if found else 0


def cases_of(output):
    """(passed, failed, skipped, assertions) as the program's closing lines say; None without such lines."""
    whole = ALL_PASSED.search(output)
    if whole:
        return int(whole.group(2)), 0, 0, int(whole.group(1))
    mixed = {line[0]: line for line in MIXED.findall(output)}
    if "test cases" not in mixed:
        return None
    rest = mixed["test cases"][2]
    failed = counted("failed", rest)
    return counted("passed", rest), failed, counted("skipped", rest), int(mixed.get("assertions", (0, 0))[1])


def durations_of(output):
    """Of test cases that Catch2 gives a duration; a section has its test case's name and no more than its time."""
    longest = {}
    for seconds, name in TOOK.findall(output):
        longest[name] = max(longest.get(name, 0.0), float(seconds))
    return longest


def skip_reasons_of(output):
    """One for each SKIP; Catch2 wraps a long one."""
    return [" ".join(reason.split()) or "no reason is given" for reason in SKIPPED.findall(output)]


def skipped_itself(case):
    """By its SKIP_RETURN_CODE; a program that is missing is "not run" too, but that is a failure."""
    why = case.find("skipped")
    return why is not None and why.get("message", "").startswith("SKIP_")


def main():
    suite = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
    durations, reasons = [], collections.Counter()
    programs = passed = failed = skipped = assertions = 0
    for case in suite.iter("testcase"):
        if case.get("status") == "disabled":
            continue
        if skipped_itself(case):
            skipped += 1
            print(f"skipped: {case.get('name')}: {(case.findtext('system-out') or '').strip()}")
            continue
        programs += 1
        worked = case.get("status") == "run"
        output = case.findtext("system-out") or ""
        durations += [(seconds, case.get("name"), name) for name, seconds in durations_of(output).items()]
        reasons.update(skip_reasons_of(output))
        counts = cases_of(output) or (int(worked), int(not worked), 0, 0)
        passed += counts[0]
        failed += max(counts[1], int(not worked))
        skipped += counts[2]
        assertions += counts[3]
    for reason, count in reasons.most_common():
        print(f"skipped: {count} x {reason}")
    for took, program, name in sorted(durations, reverse=True)[:SLOWEST]:
        print(f"slow: {took:.0f} s {program}: {name}")
    seconds = float(suite.get("time", "0"))
    print(f"{programs} programs, {passed + failed + skipped} test cases ({skipped} skipped), {assertions} assertions, {seconds:.0f} s")
    print(f"{passed} passed, {failed} failed")


main()
