"""scripts/fuzz is not built with the other tests: the files that its CMakeLists.txt names are there.
Usage: fuzz_sources_test.py PROJECT_ROOT"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
named = re.findall(r"\b(?:lib|tests)/[\w/]+\.cpp", (root / "tests/fuzz/CMakeLists.txt").read_text())
assert len(named) > 20, named
missing = [name for name in named if not (root / name).is_file()]
if missing:
    sys.exit("tests/fuzz/CMakeLists.txt names files that are not there: " + ", ".join(missing))
print(f"{len(named)} files are there")
