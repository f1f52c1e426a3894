#pragma once
// What this process runs on, for `esper doctor`, `--version` and the head of a run's telemetry. Any thread.

#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <vector>

#include "device/cuda_table.h"
#include "device/memory_figures.h"

namespace esper::device {

struct HostFacts {
  std::string cpu_model;
  int logical_cores = 0;                      // that this process may use
  std::vector<std::string> instruction_sets;  // those that matter for speed: avx2, fma, avx512f, amx_bf16, ...
  std::uint64_t memory_total_bytes = 0;
  std::uint64_t memory_available_bytes = 0;
};
HostFacts host_facts();

struct TorchFacts {
  std::string version;
  std::string blas;            // library and version
  std::string onednn;          // version
  std::string cpu_capability;  // the instruction set that torch's kernels use, such as AVX512
  int intra_op_threads = 0;
  int inter_op_threads = 0;
};
TorchFacts torch_facts();

// What is known to decide the bits of a computation beside the program and its inputs: "libtorch 2.11.0, CPU kernels
// for AVX512, 2 threads". On a GPU its name, too.
std::string numerics_of(c10::Device device);

// Every visible GPU; empty where there is none. Loads the CUDA module where the machine has a GPU.
std::vector<GpuFacts> gpu_facts();

// Empty on the CPU.
std::string pci_address_of(c10::Device device);

MemoryFigures memory_figures(c10::Device device);

}  // namespace esper::device
