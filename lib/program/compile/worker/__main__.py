"""The compile worker: started by Esper, spoken to in lines of JSON on the channel that it finds as its standard input.

One process stays. For programs of the CPU it imports torch once and forks a child for each job; a CUDA context does not
live through a fork, so each job for a card gets a Python of its own. A job can be killed, and a crash costs only the
job. Everything it starts is in its process group; when the channel ends, Esper is gone, and the group kills
itself. Nothing that it starts has the channel: standard input and output are /dev/null for all that runs here, so that
a compiler that talks, or torch, cannot break the protocol.

  in   {"job": 1, "source": ..., "recipe": ..., "mode": ..., "device": ..., "threads": 1, "effort": "quick",
        "deterministic": true, "tf32": false,
        "memory_limit_mb": 4096, "deadline_s": 120, "wall_deadline_s": 1200, "mac_key": HEX}    one at a time, all for
                                                      the device that the worker was started for
       {"cancel": 1}
  out  {"torch": "2.11.0+cu130"}                      once, when ready; or {"error": ..., "reason": ...}
       {"began": 1}                                   the time of a job counts from here
       {"headers": true}, {"headers": false}          what is made once on a machine is being made, or waited for
       {"job": 1, "package": "/.../program.pt2", "ms": 2345.6, "stages": {"export": 300.1, ...}, "compiler": ...,
        "not_used": [...]}                            files kept from earlier jobs that were found wrong
       {"job": 1, "error": "failed", "reason": ..., "ms": ...}

Errors are those of compile_request.h. deadline_s is of processor time: of the job's child and of all that it starts,
without what is made once on a machine, and without the start of a Python of its own. Arguments: the worker's folder,
the folder of what is kept for all jobs, "normal" or "background" priority, and "cpu" or "cuda".
"""

import contextlib
import errno
import fcntl
import importlib.util
import json
import math
import os
import queue
import runpy
import select
import shutil
import signal
import sys
import threading
import time
import uuid

import child
import kept
import reasons
import toolchain

FOLDER, HEADERS, _, DEVICE = sys.argv[1:]
# A GPU's jobs begin in a new Python, with the worker's own files and arguments.
FRESH_JOB = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {sys.argv[0]!r}); import child; child.begin()"]
PR_SET_CHILD_SUBREAPER = 36
POLL_S = 0.05
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
CLEAR_UP_S = 1
DEADLINE = "step.compile.deadline" if DEVICE == "cpu" else "for a GPU twice step.compile.deadline"
in_use = []  # the folder of the job at hand
leaving = threading.Lock()  # taken for good by the thread that clears up
making = threading.Lock()  # held while a folder is created; permanently once Esper has exited, so that no new one is created
channel = child.take(0)


def say(message):
    data = (json.dumps(message) + "\n").encode()
    try:
        while data:
            data = data[os.write(channel, data):]
    except OSError:
        leave_nothing()


def leave_nothing():
    """Esper has exited: ends the processes and removes their files."""
    if not leaving.acquire(blocking=False):
        threading.Event().wait()  # the other thread is at it
    making.acquire(timeout=CLEAR_UP_S / 2)
    kill_descendants(time.monotonic() + CLEAR_UP_S)
    deadline = time.monotonic() + CLEAR_UP_S / 2
    for folder in in_use:
        # Another thread may be removing it too: missing files are skipped.
        while os.path.exists(folder):
            shutil.rmtree(folder, ignore_errors=True)
            if time.monotonic() > deadline:
                break
    os.killpg(0, signal.SIGKILL)


def read_input(lines):
    """Runs in its own thread, so that the end of the input is always noticed."""
    rest = b""
    while True:
        try:
            data = os.read(channel, 1 << 16)
        except OSError:
            data = b""
        if not data:
            leave_nothing()
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            lines.put(json.loads(line))


def descendants():
    """Processes below this one, children that lost their parent included: they fall to the subreaper. With the seconds of
    processor time that each has used, together with those of its children that it has waited for."""
    parents, seconds = {}, {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rsplit(b")", 1)[1].split()
            except OSError:
                continue
            parents[int(name)] = int(fields[1])
            seconds[int(name)] = sum(map(int, fields[11:15])) / TICKS_PER_S
    found, level = {}, [os.getpid()]
    while level:
        level = [pid for pid, parent in parents.items() if parent in level]
        found.update((pid, seconds[pid]) for pid in level)
    return found


def anonymous_bytes(pid):
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            for line in file:
                if line.startswith(b"RssAnon:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def kill_descendants(until=math.inf):
    while time.monotonic() < until:
        for pid in descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


class Job:
    """One child, as its parent sees it."""

    def __init__(self, request):
        self.request = request
        self.folder = os.path.join(FOLDER, "jobs", f"{uuid.uuid4().hex}-{request['job']}")
        # Held until the next job begins: Esper uses the folder until then.
        self.hold = make_held(self.folder)
        self.began = time.monotonic()
        self.starting = DEVICE != "cpu"  # a Python of its own, until it says that it is ready
        # What a forked child shares with this process, or a new one has when it is ready, is not counted as the job's.
        self.shared_bytes = 0 if self.starting else anonymous_bytes(os.getpid())
        self.pipe, write_end = os.pipe()
        try:
            self.pid = (start_fresh if self.starting else fork)(request, self.folder, write_end)
        except OSError:
            os.close(self.pipe)
            os.close(self.hold)
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        finally:
            os.close(write_end)
        self.received = b""
        self.answer = None
        # CPU time that does not count: of files shared by all jobs of this machine.
        self.keeping = 0  # how many such things are being made
        self.seconds_before = 0  # when the first of them was begun
        self.uncounted = 0

    def used_bytes(self, below):
        if self.starting:
            return 0
        used = sum(anonymous_bytes(pid) for pid in below)
        return used - min(self.shared_bytes, anonymous_bytes(self.pid))

    def stays_over_memory(self, below, limit):
        """A process between vfork and exec shows its parent's memory as its own: those count that are there for long."""
        staying = set(below)
        for _ in range(4):
            time.sleep(POLL_S)
            staying &= descendants().keys()
            if self.used_bytes(staying) <= limit:
                return False
        return True

    def used_seconds(self, below):
        if self.starting:
            return 0
        return (self.seconds_before if self.keeping else sum(below.values())) - self.uncounted

    def note_keeping(self, change):
        seconds = sum(descendants().values())
        if self.keeping == 0:
            self.seconds_before = seconds
            say({"headers": True})
        self.keeping += change
        if self.keeping == 0:
            self.uncounted += seconds - self.seconds_before
            say({"headers": False})

    def note_ready(self):
        self.starting = False
        self.shared_bytes = anonymous_bytes(self.pid)
        self.uncounted = sum(descendants().values())

    def receive(self):
        """False at the end."""
        data = os.read(self.pipe, 1 << 16)
        *whole, self.received = (self.received + data).split(b"\n")
        for line in whole:
            message = json.loads(line)
            if "keeping" in message:
                self.note_keeping(message["keeping"])
            elif "ready" in message:
                self.note_ready()
            else:
                self.answer = message
        return bool(data)

    def overdue(self, below):
        """Why it is to be stopped, if it is."""
        seconds = self.used_seconds(below)
        limit = self.request["deadline_s"]
        if seconds > limit:
            return f"it used more than {limit:g} s of CPU time ({DEADLINE})"
        wall_limit = self.request["wall_deadline_s"]
        if time.monotonic() - self.began > wall_limit:
            used = f"having used {seconds:.1f} of {limit:g} s of CPU time ({DEADLINE})"
            return f"it was not finished after {wall_limit:g} s of wall time, {used}"
        return None

    def wait(self, lines):
        """The answer to Esper, once there is one."""
        limit = self.request["memory_limit_mb"] << 20
        while True:
            if select.select([self.pipe], [], [], POLL_S)[0]:
                if not self.receive():
                    return self.ended()
                continue
            if self.is_cancelled(lines):
                return {"error": "cancelled", "reason": "cancelled"}
            below = descendants()
            if self.used_bytes(below) > limit and self.stays_over_memory(below, limit):
                megabytes = self.request["memory_limit_mb"]
                reason = f"it needed more than {megabytes} MB (step.compile.memory_limit_mb)"
                return {"error": "out_of_memory", "reason": reason}
            reason = self.overdue(below)
            if reason:
                return {"error": "timeout", "reason": reason}

    def is_cancelled(self, lines):
        try:
            while True:
                if lines.get_nowait().get("cancel") == self.request["job"]:
                    return True
        except queue.Empty:
            return False

    def ended(self):
        if self.answer:
            kept.verified.update(self.answer.pop("verified", {}))
            return self.answer
        status = os.waitpid(self.pid, 0)[1]
        if os.WIFSIGNALED(status):
            return {"error": "crashed", "reason": f"the compilation was killed by signal {os.WTERMSIG(status)}"}
        return {"error": "crashed", "reason": f"the compilation ended with status {os.WEXITSTATUS(status)}"}

    def finish(self, answer):
        kill_descendants()
        os.close(self.pipe)
        answer["job"] = self.request["job"]
        answer["ms"] = (time.monotonic() - self.began) * 1000
        if "error" in answer:
            shutil.rmtree(self.folder, ignore_errors=True)
        say(answer)


def fork(request, job_folder, pipe):
    pid = os.fork()
    if pid == 0:
        os.close(channel)
        child.run(request, job_folder, kept.Kept(HEADERS, request["mac_key"]), pipe)
    return pid


def start_fresh(request, job_folder, pipe):
    message = {"request": request, "folder": job_folder, "headers": HEADERS, "verified": kept.verified}
    with os.fdopen(os.memfd_create("job"), "wb") as file:
        file.write(json.dumps(message).encode())
        file.seek(0)
        files = [(os.POSIX_SPAWN_DUP2, file.fileno(), 0), (os.POSIX_SPAWN_DUP2, pipe, 1)]
        return os.posix_spawn(sys.executable, [*FRESH_JOB, *sys.argv[1:]], os.environ, file_actions=files)


@contextlib.contextmanager
def held(folder):
    """No other process creates or removes folders here meanwhile."""
    hold = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(hold, fcntl.LOCK_EX)
        yield
    finally:
        os.close(hold)


def make_held(folder):
    """Creates it, and returns the descriptor whose lock marks it as in use until the processes that have it end."""
    with making, held(os.path.dirname(folder)):
        os.mkdir(folder)
        in_use[:] = [folder]
        hold = os.open(folder, os.O_RDONLY)
        fcntl.flock(hold, fcntl.LOCK_EX)
        return hold


def remove_stale_jobs():
    """Removes files of killed workers, in any process namespace."""
    jobs = os.path.join(FOLDER, "jobs")
    os.makedirs(jobs, exist_ok=True)
    kept.check_folder(jobs)
    with held(jobs):
        for name in os.listdir(jobs):
            path = os.path.join(jobs, name)
            try:
                hold = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            except (FileNotFoundError, NotADirectoryError):
                continue  # another one was faster, or it is no job
            try:
                fcntl.flock(hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            except BlockingIOError:
                pass
            finally:
                os.close(hold)


def start():
    # Until the thread below sees the end of the input, and while an import holds the interpreter.
    child.die_with_parent(True)
    child.prctl(PR_SET_CHILD_SUBREAPER, 1)
    if toolchain.PRIORITY == "background":
        os.nice(19)
    lines = queue.SimpleQueue()
    threading.Thread(target=read_input, args=(lines,), daemon=True).start()
    try:
        remove_stale_jobs()
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        say({"error": "disk_full" if full else "cache_refused", "reason": str(error)})
        return None
    except kept.UnsafeFolder as error:
        say({"error": "cache_refused", "reason": str(error)})
        return None
    missing = toolchain.missing_compiler()
    if missing:
        say({"error": "no_compiler", "reason": missing})
        return None
    try:
        version = torch_version()
    except ImportError as error:
        say({"error": "no_python", "reason": f"{sys.executable} cannot import torch: {error}"})
        return None
    child.die_with_parent(False)
    say({"torch": version})
    return lines


def torch_version():
    """Of the CPU's worker, which imports it; another one only looks."""
    if DEVICE == "cpu":
        import job

        return job.TORCH_VERSION
    found = importlib.util.find_spec("torch")
    if found is None:
        raise ImportError("there is none")
    return runpy.run_path(os.path.join(found.submodule_search_locations[0], "version.py"))["__version__"]


def try_to_warm_up():
    """Later jobs are faster for it, and right without it."""
    import job

    warm_up = os.path.join(FOLDER, "jobs", f"{uuid.uuid4().hex}-warm-up")
    try:
        hold = make_held(warm_up)
    except OSError:
        return
    try:
        job.warm_up(warm_up, kept.Kept(HEADERS, ""))
    except Exception:  # noqa: BLE001
        pass
    finally:
        os.close(hold)


def main():
    os.umask(0o077)  # new files belong to this user alone
    lines = start()
    if lines is None:
        return
    warm = DEVICE != "cpu"  # where each job starts a new process there is nothing to warm up
    work = None
    while True:
        # The first program has priority: work for later ones is done after it.
        request = lines.get()
        if "job" not in request:
            continue
        if work:
            os.close(work.hold)
            work = None
        say({"began": request["job"]})
        try:
            work = Job(request)
        except OSError as error:
            say({**reasons.describe(error), "job": request["job"], "ms": 0})
            continue
        work.finish(work.wait(lines))
        if not warm and lines.empty():
            warm = True
            try_to_warm_up()


try:
    main()
except BaseException:
    if leaving.locked():  # the thread that clears up took the processes away from under this one
        threading.Event().wait()
    raise
