"""The summary of scripts/test counts Catch2's closing lines, names the slowest cases, never hides a program that failed without them, and says
why a program or a test case was skipped."""

import subprocess
import sys

REPORT = """<testsuite time="12">
<testcase name="a" status="run"><system-out>7.250 s: a slow one
9.500 s: a slow one
12.125 s: the slowest
All tests passed (37 assertions in 5 test cases)</system-out></testcase>
<testcase name="b" status="fail"><system-out>
-------------------------------------------------------------------------------
the lane compiles
-------------------------------------------------------------------------------
lane_test.cpp:20
...............................................................................

python_with_torch.h:25: SKIPPED:
explicitly with message:
  no Python with torch at /usr/bin/python3: nothing
  can be compiled

-------------------------------------------------------------------------------
test cases:  7 | 4 passed | 2 failed | 1 skipped
assertions: 20 | 18 passed | 2 failed
</system-out></testcase>
<testcase name="crashed" status="fail"><system-out>Randomness seeded to: 1</system-out></testcase>
<testcase name="c" status="run"><system-out>
python_with_torch.h:25: SKIPPED:
explicitly with message:
  no Python with torch at /usr/bin/python3: nothing can be compiled

gpu.h:13: SKIPPED:
explicitly with message:
  this machine has no NVIDIA GPU

silent.cpp:1: SKIPPED:

test cases: 4 | 1 passed | 3 skipped
assertions: 3 | 3 passed
</system-out></testcase>
<testcase name="plain" status="run"><system-out>checked</system-out></testcase>
<testcase name="crashed at exit" status="fail"><system-out>All tests passed (1 assertion in 1 test case)</system-out></testcase>
<testcase name="left out" status="notrun"><skipped message="SKIP_RETURN_CODE=6"/><system-out>no tool
</system-out></testcase>
<testcase name="not built" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"""
EXPECTED = """skipped: left out: no tool
skipped: 2 x no Python with torch at /usr/bin/python3: nothing can be compiled
skipped: 1 x this machine has no NVIDIA GPU
skipped: 1 x no reason is given
slow: 12 s a: the slowest
slow: 10 s a: a slow one
7 programs, 22 test cases (5 skipped), 61 assertions, 12 s
12 passed, 5 failed
"""

script, report = sys.argv[1:]
with open(report, "w") as file:
    file.write(REPORT)
said = subprocess.run([sys.executable, script, report], capture_output=True, text=True, check=True).stdout
assert said == EXPECTED, said
