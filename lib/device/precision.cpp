#include "device/precision.h"

#include <ATen/autocast_mode.h>

#include "base/error.h"
#include "device/cuda_table.h"

namespace esper::device {

c10::ScalarType resolve_precision(config::Precision precision, c10::Device device) {
  switch (precision) {
    case config::Precision::kBf16:
      return c10::ScalarType::BFloat16;
    case config::Precision::kFp16:
      return c10::ScalarType::Half;
    case config::Precision::kFp32:
      return c10::ScalarType::Float;
    case config::Precision::kAuto:
      break;
  }
  constexpr int kAmpere = 8;
  const bool fast_bf16 = device.is_cuda() && cuda().facts(device.index()).capability_major >= kAmpere;
  return fast_bf16 ? c10::ScalarType::BFloat16 : c10::ScalarType::Float;
}

config::Precision precision_of(c10::ScalarType dtype) {
  if (dtype == c10::ScalarType::BFloat16) return config::Precision::kBf16;
  if (dtype == c10::ScalarType::Half) return config::Precision::kFp16;
  ESPER_CHECK(dtype == c10::ScalarType::Float, "no precision has this type");
  return config::Precision::kFp32;
}

AutocastScope::AutocastScope(c10::DeviceType device_type, c10::ScalarType dtype)
    : device_type_(device_type), active_(dtype != c10::ScalarType::Float) {
  if (!active_) return;
  former_enabled_ = at::autocast::is_autocast_enabled(device_type_);
  former_dtype_ = at::autocast::get_autocast_dtype(device_type_);
  at::autocast::set_autocast_dtype(device_type_, dtype);
  at::autocast::set_autocast_enabled(device_type_, true);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_type_, former_enabled_);
  at::autocast::set_autocast_dtype(device_type_, former_dtype_);
}

}  // namespace esper::device
