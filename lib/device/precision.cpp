#include "device/precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

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

namespace {

using at::Float32Backend;
using at::Float32Op;
using at::Float32Precision;
constexpr std::array kProducts{Float32Op::MATMUL, Float32Op::CONV, Float32Op::RNN};

bool is_reduced(Float32Op op) {
  const auto precision = at::globalContext().float32Precision(Float32Backend::MKLDNN, op);
  return precision == Float32Precision::BF16 || precision == Float32Precision::TF32;
}

// Whoever computes with the precision of products on CUDA holds it shared, whoever changes it alone.
std::shared_mutex precision_on_cuda;
thread_local bool changes_precision = false;

}  // namespace

bool uses_reduced_fp32(c10::Device device) {
  const auto& context = at::globalContext();
  if (device.is_cuda()) return context.allowTF32CuBLAS() || context.allowTF32CuDNN();
  return std::ranges::any_of(kProducts, is_reduced);
}

// By the functions that apply_settings calls: torch refuses to mix its two ways of setting CUDA's.
FullFp32::FullFp32(c10::Device device) {
  auto& context = at::globalContext();
  if (device.is_cuda()) {
    if (!changes_precision) lock_ = std::unique_lock(precision_on_cuda);
    put_back_ = [&context, products = context.allowTF32CuBLAS(), convolutions = context.allowTF32CuDNN()] {
      context.setAllowTF32CuBLAS(products);
      context.setAllowTF32CuDNN(convolutions);
    };
    context.setAllowTF32CuBLAS(false);
    context.setAllowTF32CuDNN(false);
    changes_precision = true;
    return;
  }
  std::vector<std::pair<Float32Op, Float32Precision>> former;
  for (const Float32Op op : kProducts) {
    if (!is_reduced(op)) continue;
    former.emplace_back(op, context.float32Precision(Float32Backend::MKLDNN, op));
    context.setFloat32Precision(Float32Backend::MKLDNN, op, Float32Precision::IEEE);
  }
  put_back_ = [&context, former] {
    for (const auto& [op, precision] : former) context.setFloat32Precision(Float32Backend::MKLDNN, op, precision);
  };
}

FullFp32::~FullFp32() {
  put_back_();
  if (lock_.owns_lock()) changes_precision = false;
}

SteadyFp32::SteadyFp32(c10::Device device) {
  if (device.is_cuda() && !changes_precision) lock_ = std::shared_lock(precision_on_cuda);
}

}  // namespace esper::device
