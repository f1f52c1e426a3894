#pragma once
#include "config/field.h"

namespace esper::config {

enum class Precision { kAuto, kFp32, kBf16, kFp16 };
constexpr auto names(Precision) {
  return std::array{std::pair{Precision::kAuto, "auto"}, std::pair{Precision::kFp32, "fp32"},
                    std::pair{Precision::kBf16, "bf16"}, std::pair{Precision::kFp16, "fp16"}};
}

struct DeviceConfig {
  std::string kind = "auto";
  Precision precision = Precision::kFp32;
  bool tf32 = true;
  bool deterministic = true;
  int threads = 0;

  template <class = void>
  static constexpr auto fields() {
    using C = DeviceConfig;
    return std::tuple{
        field("kind", &C::kind, "device: auto, cpu, cuda or cuda:N; auto uses CUDA if available"),
        field("precision", &C::precision, "autocast type; auto: bf16 where the device runs it fast, else fp32"),
        field("tf32", &C::tf32, "allow TF32 matrix products on CUDA"),
        field("deterministic", &C::deterministic, "raise an error for nondeterministic operators"),
        field("threads", &C::threads, "threads per operator (intra-op); 0 uses all cores", between(0, 1024))};
  }
  void validate(Findings& out) const;
};

}  // namespace esper::config
