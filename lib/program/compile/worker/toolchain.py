"""C++ compilers: which there are, and how Inductor is made to use them quickly.

Compared with Inductor's own way: the wrapper (the code between the kernels) is compiled beside the kernels and not
before them, by clang++ where it is there, for that is the quicker one; precompiled headers and the answer of the probe
for instruction sets are kept in the cache folder and believed as long as compiler, torch and flags are the same.
"""

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
import uuid

PRIORITY = sys.argv[3]

# Compilers that are known to build for every instruction set that a processor of these has and torch asks for.
KNOWN_GOOD = {"g++": 11, "clang++": 14}

# Flags that only g++ has, or that the wrapper has no use for.
NOT_FOR_CLANG = {"-fno-tree-loop-vectorize", "-fexcess-precision=fast", "-fopenmp"}

# Quicker than the compiler's own linker, which takes 0.2 s to look through libtorch, the quickest first.
LINKERS = ("lld", "gold")

# It would bring the CUDA libraries into a program that has none; Esper itself does not load it.
NOT_LINKED = {"-ltorch"}

WRAPPER_HEADER = re.compile("#include <torch/csrc/inductor/aoti_include/.*>")
MODEL_HEADER = "torch/csrc/inductor/aoti_runtime/model.h"
KERNEL_HEADER = "torch/csrc/inductor/cpp_prefix.h"

# Inductor's wrapper begins with the interface of the library, the same in every program.
END_OF_INTERFACE = '} // extern "C"\n'
INTERFACE_LEVEL = "-O2"
MODEL_TEMPLATE = "namespace torch::aot_inductor { %s template class AOTInductorModelBase<AOTInductorModel>; }\n"


def compiler():
    for name in [os.environ["CXX"]] if os.environ.get("CXX") else ["g++", "c++", "clang++"]:
        path = shutil.which(name)
        if path:
            return path
    return None


def missing_compiler():
    """The problem as text if there is no C++ compiler; else None."""
    if compiler():
        return None
    if os.environ.get("CXX"):
        return f"compiler not found: {os.environ['CXX']} (CXX)"
    return "no C++ compiler in PATH (g++, c++ or clang++); set CXX"


def version_of(path):
    """First line of --version; empty if it cannot be run."""
    done = subprocess.run([path, "--version"], capture_output=True, text=True, errors="replace", check=False)
    return done.stdout.splitlines()[0] if done.stdout and done.returncode == 0 else ""


def is_known_good(path):
    done = subprocess.run([path, "-dumpversion"], capture_output=True, text=True, errors="replace", check=False)
    major = done.stdout.strip().split(".")[0]
    name = os.path.basename(path)
    least = next((version for known, version in KNOWN_GOOD.items() if name.startswith(known)), None)
    return least is not None and major.isdigit() and int(major) >= least and platform.machine() == "x86_64"


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@contextlib.contextmanager
def locked(path):
    """An exclusive lock; it ends with the process. Where jobs of normal and of background priority want
    the same, each kind has a lock of its own: a job that is waited for does not wait for one at the lowest priority."""
    hold = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(hold, fcntl.LOCK_EX)
        yield
    finally:
        os.close(hold)


class Build:
    """Replaces Inductor's builder for one job."""

    def __init__(self, store, job_folder, effort, torch_version, report=lambda message: None):
        self.store = store
        self.folder = os.path.join(store.root, torch_version)
        self.job_folder = job_folder
        self.report = report
        self.cxx = compiler()
        clang = None if os.environ.get("CXX") else shutil.which("clang++")
        # Of the wrapper, which only calls kernels.
        self.wrapper = (clang or self.cxx, "-O0") if effort == "quick" else (self.cxx, "-O1")
        self.versions = {cxx: version_of(cxx) for cxx in {self.cxx, self.wrapper[0]}}
        self.known_good = is_known_good(self.cxx)
        self.linker = next((name for name in LINKERS if self.known_good and shutil.which("ld." + name)), None)
        self.interface = None
        self.running = []
        self.stages = {}
        self.failure = None

    def describe(self):
        return f"{' '.join(self.wrapper)} for the wrapper, {self.cxx} -O3 for the kernels"

    def run(self, stage, command):
        began = time.monotonic()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.stages[stage] = self.stages.get(stage, 0) + (time.monotonic() - began) * 1000
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} failed: " + done.stdout.decode(errors="replace")[-3000:])

    def kept(self, place, make):
        """The file `place`, made by make(temporary name) if it is not there yet. Until it is whole it lies in the job's
        folder, and goes with it. Of several jobs one makes it, and the others wait; the time is no job's."""
        if not self.store.holds(place):
            self.store.make_folders(place)
            self.report({"keeping": 1})
            try:
                with locked(f"{place}.{PRIORITY}.lock"):
                    if not self.store.holds(place):
                        mine = os.path.join(self.job_folder, uuid.uuid4().hex)
                        make(mine)
                        self.store.take(mine, place)
            finally:
                self.report({"keeping": -1})
        return place

    def header(self, text, command):
        """Precompiled for these flags; returns the header's name, which the compiler turns into the precompiled one."""
        clang = "clang" in os.path.basename(command[0]) or "clang" in self.versions[command[0]]
        # clang's hold the name of the header: in a folder that was moved they are rebuilt.
        where = [self.folder] if clang else []
        name = digest(text, self.versions[command[0]], *where, *command)
        place = os.path.join(self.folder, "headers", name, "header.h")

        def write(name):
            with open(name, "w") as file:
                file.write(text)

        def precompile(name):
            templates = ["-fpch-instantiate-templates"] if clang else []
            self.run("headers", [*command, *templates, "-x", "c++-header", place, "-o", name])

        self.kept(place, write)
        self.kept(place + (".pch" if clang else ".gch"), precompile)
        return place

    def compile_kernels(self, source, target, command):
        include = []
        with open(source) as file:
            if KERNEL_HEADER in file.read():  # an accelerator's kernels are not here
                include = ["-include", self.header(f"#include <{KERNEL_HEADER}>\n", command)]
        self.run("kernels", [*command, *include, "-c", source, "-o", target])

    def compile_interface(self, text, command):
        """The part that is the same in every program, well optimised: the rest then takes a third of a second instead of four."""
        command = [INTERFACE_LEVEL if word.startswith("-O") else word for word in command]
        place = os.path.join(self.folder, "interfaces", digest(text, self.versions[command[0]], *command) + ".o")

        def compile_once(name):
            with open(name + ".cpp", "w") as file:
                file.write(text + MODEL_TEMPLATE % "")
            self.run("interface", [*command, "-c", name + ".cpp", "-o", name])
            os.remove(name + ".cpp")

        self.interface = self.kept(place, compile_once)

    def compile_wrapper(self, source, target, command):
        with open(source) as file:
            text = file.read()
        head, mark, rest = text.rpartition(END_OF_INTERFACE)
        if not mark:
            raise RuntimeError("Inductor's wrapper has no end of its interface: this torch is not known to the worker")
        interface = self.start(self.compile_interface, head + mark, command)
        cxx, level = self.wrapper
        command = [cxx, *(level if word.startswith("-O") else word for word in command[1:])]
        if cxx != self.cxx:
            command = [word for word in command if word not in NOT_FOR_CLANG]
        includes = WRAPPER_HEADER.search(head).group() + f"\n#include <{MODEL_HEADER}>\n"
        program = source.removesuffix(".cpp") + ".program.cpp"
        with open(program, "w") as file:
            file.write(MODEL_TEMPLATE % "extern" + rest)
        self.run("wrapper", [*command, "-include", self.header(includes, command), "-c", program, "-o", target])
        interface.join()

    def start(self, work, *arguments):
        def guarded():
            try:
                work(*arguments)
            except BaseException as error:
                self.failure = self.failure or error

        thread = threading.Thread(target=guarded)
        thread.start()
        return thread

    def join(self):
        while self.running:
            self.running.pop().join()
        if self.failure:
            raise self.failure

    def has_instructions(self, probe, isa, code):
        """The probe starts Pythons that import torch, 15 s in all: its results are cached."""
        if self.known_good:
            return True
        name = digest(isa._arch_flags, code, self.versions[self.cxx], cpu_flags())

        def ask(place):
            with open(place, "w") as file:
                file.write("yes" if probe(isa, code) else "no")

        with open(self.kept(os.path.join(self.folder, "probes", name), ask)) as file:
            return file.read() == "yes"

    def without_job(self, word):
        """CUDA's headers lie behind a link in the job's folder: what is kept must not name it."""
        return "-I" + os.path.realpath(word[2:]) if word.startswith(f"-I{self.job_folder}/") else word

    def link(self, command):
        """A quick linker may miss libraries that the compiler's own finds: gold knows nothing of a compiler that was moved."""
        if self.linker:
            try:
                return self.run("link", [*command, f"-fuse-ld={self.linker}"])
            except RuntimeError:
                self.linker = None
        return self.run("link", command)

    def build(self, builder):
        """Wrapper and kernels begin here, and are waited for before they are linked."""
        target = builder.get_target_file_path()
        words = [self.without_job(word) for word in shlex.split(builder.get_command_line())]
        kind = os.path.basename(target).split(".")[-2]
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if target.endswith(".so"):
            self.join()
            self.link([*(word for word in words if word not in NOT_LINKED), self.interface, "-s"])
        elif kind in ("wrapper", "kernel"):
            source = next(word for word in words if word.endswith(".cpp"))
            # The remaining arguments are flags.
            command = [word for word in words if word not in ("-c", "-o", source, target)]
            work = self.compile_wrapper if kind == "wrapper" else self.compile_kernels
            self.running.append(self.start(work, source, target, command))
        else:
            self.run("constants", words)


class NoBuild(Build):
    """Makes empty files: for the warm-up, which is about Python."""

    def build(self, builder):
        target = builder.get_target_file_path()
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(b"\xef\xcd\xab\x99\x78\x56\x34\x12")


def install(current):
    """From here on Inductor builds through current()."""
    from torch._inductor import codecache, cpp_builder, cpu_vec_isa

    probe = cpu_vec_isa.VecISA.check_build
    cpu_vec_isa.VecISA.check_build = lambda isa, code: current().has_instructions(probe, isa, code)
    codecache._precompile_header = lambda *args, **kwargs: ""
    cpp_builder.CppBuilder.build = lambda builder: current().build(builder)


def cpu_flags():
    with open("/proc/cpuinfo") as file:
        return next((line for line in file if line.startswith(("flags", "Features"))), platform.machine())
