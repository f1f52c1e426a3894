"""The work behind scripts/fuzz: runs built readers, prints a table, keeps what crashes.
Usage: fuzz.py BUILD SECONDS OUTPUT READER...; OUTPUT may be empty."""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

CRASHES = ("crash-", "leak-", "oom-", "timeout-")  # how libFuzzer names them; slow-unit- is none
LIMITS = ("-timeout=5", "-rss_limit_mb=2048", "-malloc_limit_mb=512")
LONGEST_INPUT = "-max_len=16384"
DEADLINE_BEYOND_S = 600  # what the corpus holds is run first, and a busy machine takes its time
COLUMNS = ("reader", "cpu_s", "executions", "executions_per_s", "corpus", "edges", "edges_built", "peak_rss_mb", "crashes")


def crashes_in(folder):
    return {file for file in folder.iterdir() if file.name.startswith(CRASHES)}


def cpu_s():
    """Of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def last_number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else None


def fuzz(build, reader, seconds):
    program = build / f"fuzz_{reader}"
    corpus, seeds, crashes = (build / name / reader for name in ("corpus", "seeds", "crashes"))
    for folder in (corpus, seeds, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([program, f"--seeds={seeds}"], check=True, timeout=DEADLINE_BEYOND_S)
    before, cpu_before = crashes_in(crashes), cpu_s()
    log = build / f"{reader}.log"
    # Readers of files get theirs in memory where the machine has such a folder.
    shared_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shared_memory) as folder, open(log, "wb") as out:
        command = [program, f"-max_total_time={seconds}", *LIMITS, LONGEST_INPUT, "-print_final_stats=1",
                   f"-artifact_prefix={crashes}/", corpus, seeds]
        done = subprocess.run(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=folder,
                              env={**os.environ, "TMPDIR": folder}, timeout=seconds + DEADLINE_BEYOND_S)
    text = log.read_text(errors="replace")
    new = sorted(crashes_in(crashes) - before)
    for crash in new:
        print(f"fuzz: {reader} crashed (log: {log}); again: {program} {crash}", file=sys.stderr)
    if done.returncode != 0 and not new:
        print(f"fuzz: {reader} ended with {done.returncode} (log: {log})", file=sys.stderr)
    return {"reader": reader, "seconds": seconds, "status": done.returncode,
            "cpu_s": round(cpu_s() - cpu_before),  # less than seconds where the machine had others to serve
            "executions": last_number(r"stat::number_of_executed_units: +(\d+)", text),
            "executions_per_s": last_number(r"stat::average_exec_per_sec: +(\d+)", text),
            "corpus": last_number(r" corp: (\d+)/", text), "edges": last_number(r" cov: (\d+) ", text),
            "edges_built": last_number(r"\((\d+) inline 8-bit counters\)", text),
            "peak_rss_mb": last_number(r"stat::peak_rss_mb: +(\d+)", text),
            "crashes": len(new), "crash_files": [str(crash) for crash in new]}


def line(cells):
    return "  ".join(f"{str(cell):>{max(len(column), 11)}}" for column, cell in zip(COLUMNS, cells))


def main():
    build, seconds, output, readers = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    print(line(COLUMNS), flush=True)
    rows = []
    for reader in readers:
        rows.append(fuzz(build, reader, seconds))
        print(line([rows[-1][column] for column in COLUMNS]), flush=True)
    if output:
        pathlib.Path(output).write_text(json.dumps({"readers": rows}, indent=2) + "\n")
    sys.exit(any(row["status"] != 0 or row["crashes"] for row in rows))


main()
