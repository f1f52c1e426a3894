"""C++ compilers: which there are, and how Inductor is made to use them quickly.

Compared with Inductor's own way: the wrapper (the code between the kernels) is compiled beside the kernels and not
before them, by clang++ where it is there, for that is the quicker one; precompiled headers and the answer of the probe
for instruction sets are kept in the cache folder and believed as long as compiler, torch and flags are the same.
"""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import threading
import time

# Compilers that are known to build for every instruction set that a processor of these has and torch asks for.
KNOWN_GOOD = {"g++": 11, "clang++": 14}

# Flags that only g++ has, or that the wrapper has no use for.
NOT_FOR_CLANG = {"-fno-tree-loop-vectorize", "-fexcess-precision=fast", "-fopenmp"}

# Of the wrapper, which only calls: its optimisation costs seconds. Measured, see docs/decisions/0010.
WRAPPER_LEVEL = {"quick": "-O0", "full": "-O1"}


def compiler():
    for name in [os.environ["CXX"]] if os.environ.get("CXX") else ["g++", "c++", "clang++"]:
        path = shutil.which(name)
        if path:
            return path
    return None


def missing_compiler():
    """In words, if there is no C++ compiler; else None."""
    if compiler():
        return None
    if os.environ.get("CXX"):
        return f"there is no compiler {os.environ['CXX']} (CXX)"
    return "there is no C++ compiler in PATH (g++, c++ or clang++); name one with CXX"


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


class Build:
    """What Inductor's builder is replaced by, for one job."""

    def __init__(self, folder, effort, torch_version):
        self.folder = folder
        self.effort = effort
        self.cxx = compiler()
        self.cxx_version = version_of(self.cxx)
        self.torch_version = torch_version
        self.wrapper_cxx = None if os.environ.get("CXX") else shutil.which("clang++")
        self.running = []
        self.stages = {}
        self.failure = None

    def describe(self):
        wrapper = self.wrapper_cxx or self.cxx
        return f"{wrapper} {WRAPPER_LEVEL[self.effort]} for the wrapper, {self.cxx} -O3 for the kernels"

    def run(self, stage, command, folder):
        began = time.monotonic()
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.stages[stage] = self.stages.get(stage, 0) + (time.monotonic() - began) * 1000
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} failed: " + done.stdout.decode(errors="replace")[-3000:])

    def header(self, name, command, source):
        """The precompiled form of an included header for these flags; made once. Returns what to include."""
        flags = [word for word in command if word != source]
        version = self.cxx_version if command[0] == self.cxx else version_of(command[0])
        place = os.path.join(self.folder, "headers", digest(name, version, self.torch_version, *flags))
        header = os.path.join(place, "header.h")
        made = header + (".pch" if "clang" in command[0] else ".gch")
        if not os.path.exists(made):
            os.makedirs(place, exist_ok=True)
            mine = f"{header}.{os.getpid()}"
            with open(mine, "w") as file:
                file.write(f"#include <{name}>\n")
            os.replace(mine, header)
            self.run("header", [*flags, "-x", "c++-header", header, "-o", f"{made}.{os.getpid()}"], place)
            os.replace(f"{made}.{os.getpid()}", made)
        return header

    def compile_object(self, kind, words):
        """words: Inductor's command line for one object file."""
        at = words.index("-o")
        target, command = words[at + 1], words[:at] + words[at + 2 :]
        source = next(word for word in command if word.endswith(".cpp"))
        if kind == "wrapper":
            command = [WRAPPER_LEVEL[self.effort] if word == "-O1" else word for word in command]
            if self.wrapper_cxx:
                command = [self.wrapper_cxx, *(word for word in command[1:] if word not in NOT_FOR_CLANG)]
        flags = [word for word in command if word != "-c"]
        name = WRAPPER_HEADER if kind == "wrapper" else KERNEL_HEADER
        include = ["-include", self.header(name, flags, source)] if name in open(source).read() else []
        self.run(kind, [*command, *include, "-o", target], os.path.dirname(target))

    def start(self, kind, words):
        def work():
            try:
                self.compile_object(kind, words)
            except BaseException as error:
                self.failure = self.failure or error

        thread = threading.Thread(target=work)
        thread.start()
        self.running.append(thread)

    def join(self):
        while self.running:
            self.running.pop().join()
        if self.failure:
            raise self.failure

    def install(self):
        from torch._inductor import codecache, cpp_builder, cpu_vec_isa

        if is_known_good(self.cxx):
            cpu_vec_isa.VecISA.check_build = lambda isa, code: True
        else:
            self.keep_probe(cpu_vec_isa)
        codecache._precompile_header = lambda *args, **kwargs: ""
        inductors_own = cpp_builder.CppBuilder.build

        def build(builder):
            target = builder.get_target_file_path()
            kind = os.path.basename(target).split(".")[-2]
            if kind in ("wrapper", "kernel") and target.endswith(".o"):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                self.start(kind, shlex.split(builder.get_command_line()))
                return
            if target.endswith(".so"):
                self.join()
                # libtorch.so holds nothing of its own and would load the CUDA libraries into a CPU process.
                words = [word for word in shlex.split(builder.get_command_line()) if word != "-ltorch"]
                self.run("link", words, os.path.dirname(target))
                return
            began = time.monotonic()
            inductors_own(builder)
            self.stages["constants"] = self.stages.get("constants", 0) + (time.monotonic() - began) * 1000

        cpp_builder.CppBuilder.build = build

    def keep_probe(self, cpu_vec_isa):
        """The probe starts Pythons that import torch, 15 s in all: its answers are kept."""
        probe = cpu_vec_isa.VecISA.check_build

        def check_build(isa, code):
            flags = isa._arch_flags
            place = os.path.join(self.folder, "probes", digest(flags, code, self.cxx_version, self.torch_version, cpu_flags()))
            if not os.path.exists(place):
                answer = "yes" if probe(isa, code) else "no"
                os.makedirs(os.path.dirname(place), exist_ok=True)
                mine = f"{place}.{os.getpid()}"
                with open(mine, "w") as file:
                    file.write(answer)
                os.replace(mine, place)
            with open(place) as file:
                return file.read() == "yes"

        cpu_vec_isa.VecISA.check_build = check_build


WRAPPER_HEADER = "torch/csrc/inductor/aoti_include/cpu.h"
KERNEL_HEADER = "torch/csrc/inductor/cpp_prefix.h"


def cpu_flags():
    with open("/proc/cpuinfo") as file:
        return next((line for line in file if line.startswith(("flags", "Features"))), platform.machine())
