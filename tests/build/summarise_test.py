"""The summary of scripts/test counts Catch2's closing lines, names the slowest cases, never hides a program that failed without them, and says
why a program was skipped."""

import subprocess
import sys

REPORT = """<testsuite time="12">
<testcase name="a" status="run"><system-out>7.250 s: a slow one
9.500 s: a slow one
12.125 s: the slowest
All tests passed (37 assertions in 5 test cases)</system-out></testcase>
<testcase name="b" status="fail"><system-out>
test cases:  7 | 4 passed | 2 failed | 1 skipped
assertions: 20 | 18 passed | 2 failed
</system-out></testcase>
<testcase name="crashed" status="fail"><system-out>Randomness seeded to: 1</system-out></testcase>
<testcase name="plain" status="run"><system-out>checked</system-out></testcase>
<testcase name="crashed at exit" status="fail"><system-out>All tests passed (1 assertion in 1 test case)</system-out></testcase>
<testcase name="left out" status="notrun"><skipped message="SKIP_RETURN_CODE=6"/><system-out>no tool
</system-out></testcase>
<testcase name="not built" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"""
EXPECTED = """skipped: left out: no tool
slow: 12 s a: the slowest
slow: 10 s a: a slow one
6 programs, 18 test cases (2 skipped), 58 assertions, 12 s
11 passed, 5 failed
"""

script, report = sys.argv[1:]
with open(report, "w") as file:
    file.write(REPORT)
said = subprocess.run([sys.executable, script, report], capture_output=True, text=True, check=True).stdout
assert said == EXPECTED, said
