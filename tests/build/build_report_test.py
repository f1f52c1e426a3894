"""scripts/build_report sums ninja's log by rooms, takes the newest of several entries and leaves out what is no longer there."""

import json
import os
import subprocess
import sys

LOG = """# ninja log v5
0\t1000\t1\tlib/step/CMakeFiles/esper_step.dir/Unity/unity_0_cxx.cxx.o\ta
0\t4000\t1\tlib/step/CMakeFiles/esper_step.dir/Unity/unity_0_cxx.cxx.o\ta
1000\t3500\t1\tlib/step/CMakeFiles/esper_step.dir/Unity/unity_1_cxx.cxx.o\tb
0\t20000\t1\tCMakeFiles/esper_torch_pch.dir/cmake_pch.hxx.gch\tc
0\t2000\t1\ttests/unit/step/CMakeFiles/unit_step.dir/clip_test.cpp.o\td
0\t9000\t1\tlib/step/CMakeFiles/esper_step.dir/gone.cpp.o\te
0\t3000\t1\tlib/libesper_engine.so\tf
"""

script, build = sys.argv[1:]
for line in LOG.splitlines()[1:]:
    output = os.path.join(build, line.split("\t")[3])
    os.makedirs(os.path.dirname(output), exist_ok=True)
    if "gone" not in output:
        open(output, "w").close()
with open(os.path.join(build, ".ninja_log"), "w") as file:
    file.write(LOG)

report = json.loads(subprocess.run([sys.executable, script, "--json", build], capture_output=True, text=True, check=True).stdout)
assert report["totals"] == {"binary": 26.5, "tests": 2.0}, report
assert report["rooms"][:2] == [{"name": "esper_torch_pch", "seconds": 20.0, "files": 1}, {"name": "lib/step", "seconds": 6.5, "files": 2}], report
assert report["slowest"][0]["seconds"] == 20.0, report
text = subprocess.run([sys.executable, script, build], capture_output=True, text=True, check=True).stdout
assert "    26.5  binary\n     2.0  tests\n" in text and "ccache" in text, text

nothing = subprocess.run([sys.executable, script, os.path.join(build, "none")], capture_output=True, text=True)
assert nothing.returncode == 1 and "build first" in nothing.stderr, nothing
