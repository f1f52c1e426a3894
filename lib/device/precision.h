#pragma once
// Autocast: products in a short type, sums and parameters in fp32.

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <functional>
#include <mutex>
#include <shared_mutex>

#include "config/device_config.h"

namespace esper::device {

// auto is bf16 on CUDA from compute capability 8 (Ampere) on, which has units for it, and fp32 elsewhere.
c10::ScalarType resolve_precision(config::Precision precision, c10::Device device);

// The other way, never auto: what a run that computes in `dtype` is called. Other types are a bug.
config::Precision precision_of(c10::ScalarType dtype);

// Autocast to `dtype` on this thread while it lives; float32 leaves everything as it is. The end of the outermost scope
// drops the cached short copies of the parameters, so that a parameter that changed is cast again. Scopes nest; one
// thread.
class AutocastScope {
 public:
  AutocastScope(c10::DeviceType device_type, c10::ScalarType dtype);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  c10::DeviceType device_type_;
  bool active_;
  bool former_enabled_ = false;
  c10::ScalarType former_dtype_ = c10::ScalarType::Float;
};

// Whether products of float32 may be computed from shorter numbers there: TF32 on CUDA; on the CPU bf16 or TF32, where
// oneDNN is set so.
bool uses_reduced_fp32(c10::Device device);

// While it lives products of float32 on that kind of device are computed in full fp32 (torch's "ieee"), in all threads
// of the process. What a CUDA graph has captured stays as it is. On CUDA it waits for other threads' FullFp32 and
// SteadyFp32; scopes nest.
class FullFp32 {
 public:
  explicit FullFp32(c10::Device device);
  ~FullFp32();
  FullFp32(const FullFp32&) = delete;
  FullFp32& operator=(const FullFp32&) = delete;

 private:
  std::unique_lock<std::shared_mutex> lock_;
  std::function<void()> put_back_;
};

// While it lives no other thread's FullFp32 begins or ends on CUDA: for products that are computed beside the training
// thread, and for torch's own look at the setting, which throws while it changes. Waits for a FullFp32 that has begun;
// its thread begins none meanwhile. Nothing on the CPU.
class SteadyFp32 {
 public:
  explicit SteadyFp32(c10::Device device);
  SteadyFp32(const SteadyFp32&) = delete;
  SteadyFp32& operator=(const SteadyFp32&) = delete;

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

}  // namespace esper::device
