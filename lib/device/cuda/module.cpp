// libesper_cuda.so: the table that works. Linking it pulls in libtorch_cuda, which registers CUDA with torch when it is
// loaded.
#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "device/cuda_table.h"

namespace esper::device {
namespace {

int device_count() { return c10::cuda::device_count(); }

c10::DeviceIndex checked(int index) {
  TORCH_CHECK(index >= 0 && index < device_count(), "no CUDA device ", index, "; this process sees ", device_count());
  return static_cast<c10::DeviceIndex>(index);
}

void read_card_memory(int index, std::uint64_t& free_bytes, std::uint64_t& total_bytes) {
  const c10::cuda::CUDAGuard guard(checked(index));
  std::size_t free = 0;
  std::size_t total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  free_bytes = free;
  total_bytes = total;
}

GpuFacts facts(int index) {
  cudaDeviceProp properties{};
  C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, checked(index)));
  GpuFacts out;
  out.name = properties.name;
  out.capability_major = properties.major;
  out.capability_minor = properties.minor;
  out.multiprocessors = properties.multiProcessorCount;
  C10_CUDA_CHECK(cudaDriverGetVersion(&out.driver_version));
  C10_CUDA_CHECK(cudaRuntimeGetVersion(&out.runtime_version));
  read_card_memory(index, out.memory_free_bytes, out.memory_total_bytes);
  return out;
}

// The allocator's figures exist only after torch has set CUDA up.
MemoryFigures memory(int index) {
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(checked(index));
  MemoryFigures out;
  out.used_bytes = static_cast<std::uint64_t>(stats.allocated_bytes[kAll].current);
  out.peak_bytes = static_cast<std::uint64_t>(stats.allocated_bytes[kAll].peak);
  out.reserved_bytes = static_cast<std::uint64_t>(stats.reserved_bytes[kAll].current);
  read_card_memory(index, out.free_bytes, out.total_bytes);
  return out;
}

void synchronize(int index) {
  const c10::cuda::CUDAGuard guard(checked(index));
  c10::cuda::device_synchronize();
}

c10::Stream side_stream(int index) {
  constexpr bool kHighPriority = true;
  return c10::cuda::getStreamFromPool(kHighPriority, checked(index)).unwrap();
}

constexpr CudaTable kTable{.device_count = device_count,
                           .facts = facts,
                           .memory = memory,
                           .synchronize = synchronize,
                           .side_stream = side_stream};

}  // namespace
}  // namespace esper::device

extern "C" const esper::device::CudaTable* esper_cuda_table(int version) {
  return version == esper::device::kCudaTableVersion ? &esper::device::kTable : nullptr;
}
