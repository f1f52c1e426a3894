#pragma once
// A tensor's numbers in short: how many are not finite, and the range of the others. Waits for the device. Training
// thread.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace esper::program {

struct TensorRange {
  std::string name;  // empty: none is known
  std::vector<std::int64_t> shape;
  std::string dtype;  // "Float"
  std::int64_t elements = 0;
  std::int64_t nans = 0, infinities = 0;
  double min = 0, max = 0;  // of the finite elements; 0 where there are none

  bool is_finite() const { return nans + infinities == 0; }
};

// Of any strided tensor of real numbers; of others shape and type alone.
TensorRange range_of(const at::Tensor& tensor);

}  // namespace esper::program
