"""Each room's README.md names every unit of the room, and no file that is not there: readme_test.py PROJECT_ROOT"""
import pathlib
import re
import sys

UNITS = {".h", ".cpp", ".cu", ".py"}
FILE = re.compile(r"(?<![\w*./-])[\w./-]*\w\.(?:h|cpp|cu|py)(?![\w.])")

root = pathlib.Path(sys.argv[1])
lib = root / "lib"
rooms = sorted(path.parent for path in lib.glob("*/CMakeLists.txt"))
everywhere = {path.name for path in lib.rglob("*") if path.suffix in UNITS}
problems = [] if rooms else [f"{lib}: no room in it"]

for room in rooms:
    page = room / "README.md"
    if not page.is_file():
        problems.append(f"{page}: is missing")
        continue
    spans = re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8"))
    words = {word for span in spans for word in re.findall(r"\w+\b(?!/)", span)}
    units = {path.stem for path in room.rglob("*") if path.suffix in UNITS}
    problems += [f"{page}: does not name `{unit}`" for unit in sorted(units - words)]
    named = {name for span in spans for name in FILE.findall(span)}
    problems += [f"{page}: names `{name}`, which is not there" for name in sorted(named)
                 if not (any((place / name).is_file() for place in (lib, room, root)) if "/" in name else name in everywhere)]

print("\n".join(problems) or f"{len(rooms)} rooms: each README names all units")
sys.exit(1 if problems else 0)
