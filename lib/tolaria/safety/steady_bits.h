#pragma once
// Steps that are trained again after a return must have the bits that they had, or a run that was killed meanwhile
// would go on differently. So after a change of bits (another lane, other kernels) the copy to go back to is taken
// again as soon as the bits stay the same: while lanes are timed against each other, they change back and forth.
// Training thread.

#include <cstdint>

namespace esper::tolaria {

class SteadyBits {
 public:
  // The copy is of the state that comes before the next step.
  void copied() {
    steady_steps_ = 0;
    is_copy_old_ = false;
  }
  // After a step whose computation is named by `bits`: whether the copy is to be taken again.
  bool wants_copy(std::uint64_t bits) {
    if (bits != bits_) {
      bits_ = bits;
      steady_steps_ = 0;
      is_copy_old_ = true;
      return false;
    }
    return is_copy_old_ && ++steady_steps_ >= kSteadySteps;
  }

 private:
  static constexpr int kSteadySteps = 16;

  std::uint64_t bits_ = 0;    // of the last step
  int steady_steps_ = 0;      // since they changed
  bool is_copy_old_ = false;  // from before a change of bits
};

}  // namespace esper::tolaria
