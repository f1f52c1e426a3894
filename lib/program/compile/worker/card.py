"""What a compilation for an NVIDIA card needs besides torch, whether or not a CUDA toolkit is installed.

Inductor takes headers and libcuda from CUDA_HOME, Triton searches for libcuda by itself; both keep files in the user's
home. Here both get one folder in the job's own. ptxas and libdevice are Triton's own.
"""

import ctypes
import importlib.util
import os
import sysconfig

TOOLKIT = "/usr/local/cuda"
NEEDED = ("cuda.h", "cuda_runtime_api.h", "crt/host_defines.h")
DRIVER = "libcuda.so.1"


def prepare(job_folder):
    """Changes the environment, before torch is imported."""
    check_python()
    home = os.path.join(job_folder, "cuda")
    libraries = os.path.join(home, "lib64")
    os.makedirs(libraries)
    os.symlink(headers(), os.path.join(home, "include"))
    driver = loaded_driver()
    if driver:  # else torch says that there is none
        for name in ("libcuda.so", DRIVER):
            os.symlink(driver, os.path.join(libraries, name))
    os.environ["CUDA_HOME"] = home
    os.environ["TRITON_LIBCUDA_PATH"] = libraries
    os.environ["TRITON_HOME"] = job_folder
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # else cuBLAS refuses to compute deterministically
    os.environ["TRITON_CACHE_DIR"] = os.path.join(job_folder, "triton")


def check_python():
    """Triton compiles its own part against this Python."""
    folder = sysconfig.get_path("include", "posix_prefix")
    if not os.path.exists(os.path.join(folder, "Python.h")):
        raise RuntimeError(f"no {folder}/Python.h, which Triton needs; install this Python's headers (python3-dev)")


def headers():
    """Those of the toolkit that the user names, else those that torch came with, else those of the usual toolkit."""
    candidates = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    wheels = importlib.util.find_spec("nvidia")
    for folder in wheels.submodule_search_locations if wheels else ():
        candidates += (os.path.join(folder, name) for name in sorted(os.listdir(folder), reverse=True))
    candidates.append(TOOLKIT)
    for candidate in candidates:
        include = os.path.join(candidate, "include")
        if all(os.path.exists(os.path.join(include, name)) for name in NEEDED):
            return include
    raise RuntimeError("no CUDA headers (cuda.h, cuda_runtime_api.h) were found; set CUDA_HOME to a CUDA toolkit")


def loaded_driver():
    """The path of the driver's library, wherever the loader finds it."""
    try:
        ctypes.CDLL(DRIVER)
    except OSError:
        return None
    with open("/proc/self/maps") as file:
        paths = (line.rstrip("\n").partition("/")[2] for line in file)
        return next((f"/{path}" for path in paths if os.path.basename(path).startswith("libcuda.so")), None)
