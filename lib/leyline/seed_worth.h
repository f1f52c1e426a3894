#pragma once
// What a seed is worth, measured against a control: the same network without the seed, trained on the same batches with
// the same random numbers, from the state in which the seed was germinated. Plain data. Any thread.

#include <cstdint>
#include <optional>

namespace esper::leyline {

// Paired differences over the validation samples, the running network's minus the control's, averaged over the later
// half of the epochs compared so far, so that one noisy epoch decides little. Above 0: the seed helps. Standard errors
// are over the samples; half widths are of the 95 % intervals, the value plus and minus it: Student's t, and in points
// at least the rule of three (base/statistics.h). Empty if there are fewer than two samples.
struct SeedWorth {
  // Of accuracy, in percentage points.
  std::optional<double> points = {}, points_stderr = {}, points_half_width = {};
  // The control's minus the running network's.
  std::optional<double> loss = {}, loss_stderr = {}, loss_half_width = {};
  std::uint32_t epochs = 0;   // of the seed's life that were compared
  std::uint32_t horizon = 0;  // that the control trained; 0: there is no control
  // Another seed came, went or changed meanwhile, or the learning rate did: no further epoch is compared.
  bool confounded = false;

  // All that can be compared was.
  bool is_complete() const { return horizon > 0 && epochs == horizon; }
  // A later epoch will be compared.
  bool is_pending() const { return !confounded && epochs < horizon; }
  bool operator==(const SeedWorth&) const = default;
};

// The ends of its 95 % intervals; empty where it was not measured.
struct WorthBounds {
  std::optional<double> loss_lower, loss_upper, points_lower;
};
inline WorthBounds bounds_of(const SeedWorth& worth) {
  WorthBounds bounds;
  if (worth.loss && worth.loss_half_width) {
    bounds.loss_lower = *worth.loss - *worth.loss_half_width;
    bounds.loss_upper = *worth.loss + *worth.loss_half_width;
  }
  if (worth.points && worth.points_half_width) bounds.points_lower = *worth.points - *worth.points_half_width;
  return bounds;
}

}  // namespace esper::leyline
