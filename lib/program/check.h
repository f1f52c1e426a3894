#pragma once
// Does a lane do what eager does? Compares what one step changed. Training thread; reads the device.

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

namespace esper::program {

// One tensor of the state, under the name in the rejection.
struct Tracked {
  std::string name;
  at::Tensor tensor;
  std::string kind{};  // tensors of one kind change by parts of one gradient; empty: by something of its own
  // AdamW divides an update by the root of these, element by element: where a gradient is all rounding, so is the
  // update, at full size. So changes are compared as they were before that division. Undefined: there was none.
  at::Tensor squares{};
  // Of a moving average: the factor by which a step multiplies it before it adds to it. Where what is averaged stays as
  // it is the average does, too, and its change is all rounding: so it counts as changed by at least what was added.
  double decay = 1;
};

// Largest accepted ratio of the L2 norm of the two changes' difference to the L2 norm of eager's change. To it are
// added the rounding of the values themselves, and a part of the change of all tensors of the kind: a gradient may be
// all rounding, where what it sums cancels (a key's bias shifts all scores of a query alike).
struct Tolerance {
  double ratio = 0;
  double rounding = 0;  // of the kind's change
  double ties = 0;      // by so many whole numbers may differ, whatever their change
};
// For a step that computes in this type.
Tolerance tolerance_of(c10::ScalarType compute_type);

struct Difference {
  std::string tensor;
  double difference = 0;  // as defined at Tolerance
  double tolerance = 0;   // 0: the bits were compared, and by how much they differ is not known
};

// The first tensor whose change is not eager's; empty if all are. Elements that are not finite have to be so in both.
// Whole-number tensors may differ by one part in fifty, for ties that rounding decides. before, expected, actual:
// parallel to tracked, whose squares are those of the expected step.
std::optional<Difference> first_difference(const std::vector<Tracked>& tracked, const std::vector<at::Tensor>& before,
                                           const std::vector<at::Tensor>& expected,
                                           const std::vector<at::Tensor>& actual, Tolerance tolerance);

}  // namespace esper::program
