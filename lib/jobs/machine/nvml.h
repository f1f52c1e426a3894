#pragma once
// NVIDIA's management library, which comes with the driver: loaded where it is, and done without where it is not.
// Nothing of CUDA is loaded. One thread. Source: the NVML API reference; only what it has kept since its version 4 is
// used.

#include <memory>
#include <string>
#include <vector>

#include "base/expected.h"
#include "jobs/machine/gpu.h"

namespace esper::jobs {

inline constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";

struct NvmlCalls;

class Nvml {
 public:
  // `library`: a name or path for dlopen(). Fails with the reason: there is no such library, or no driver.
  static base::Expected<Nvml> open(const std::string& library = kNvmlLibrary);
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;
  ~Nvml();

  // All GPUs with what is free of them now. Fails with the reason where the driver does not answer.
  base::Expected<std::vector<Gpu>> gpus() const;

 private:
  explicit Nvml(std::unique_ptr<NvmlCalls> calls);
  std::unique_ptr<NvmlCalls> calls_;
};

}  // namespace esper::jobs
