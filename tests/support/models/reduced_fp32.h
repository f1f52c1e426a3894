#pragma once
// oneDNN computes products of float32 from bf16 numbers, as cuDNN and cuBLAS compute them from TF32's: where the
// processor has matrix units for it (AMX).

#include <ATen/Context.h>

#include <algorithm>

#include "device/facts.h"

namespace esper::test {

class ReducedFp32 {
 public:
  ReducedFp32() { set(at::Float32Precision::BF16); }
  ~ReducedFp32() { set(at::Float32Precision::NONE); }
  ReducedFp32(const ReducedFp32&) = delete;

  // With avx512_bf16 alone it computes in full.
  static bool has_units() { return std::ranges::count(device::host_facts().instruction_sets, "amx_bf16") > 0; }

 private:
  static void set(at::Float32Precision precision) {
    for (const auto op : {at::Float32Op::CONV, at::Float32Op::MATMUL}) {
      at::globalContext().setFloat32Precision(at::Float32Backend::MKLDNN, op, precision);
    }
  }
};

}  // namespace esper::test
