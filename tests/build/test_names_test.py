"""A unit test is named after the file that it tests: loader_test.cpp, or loader_gpu_test.cpp for one aspect of it.
It is in the folder of the room, or where that would be too full in a sub-folder named as the file's.
Usage: test_names_test.py PROJECT_ROOT"""
import pathlib
import sys

# Folders of tests/unit that are not named after a room.
ELSEWHERE = {"front": "apps/esper", "bench": "apps/engine", "program_compile": "lib/program",
             "simic_imitation": "lib/simic/imitation", "tamiyo_network": "lib/tamiyo/network"}
SOURCES = {".h", ".cpp", ".cu"}


def is_named_after(test, stems):
    words = test.split("_")
    return any("_".join(words[:count]) in stems for count in range(len(words), 0, -1))


assert is_named_after("loader_gpu", {"loader"}) and not is_named_after("loaders", {"loader"})

root = pathlib.Path(sys.argv[1])
tests = sorted((root / "tests/unit").rglob("*_test.cpp"))
assert len(tests) > 100, tests
wrong = []
for test in tests:
    room, *within = test.parent.relative_to(root / "tests/unit").parts
    tested = root.joinpath(ELSEWHERE.get(room, f"lib/{room}"), *within)
    stems = {file.stem for file in tested.rglob("*") if file.suffix in SOURCES}
    if not is_named_after(test.stem.removesuffix("_test"), stems):
        wrong.append(f"{test.relative_to(root)}: {tested.relative_to(root)} has no file of that name")
if wrong:
    sys.exit("\n".join(wrong))
print(f"{len(tests)} tests: each is named after the file that it tests")
