#pragma once
// The control of a seed: before a graft the present network, without the seed, trains the epochs that the run itself
// will train next, and is validated after each; then everything is as it was. Definitions: leyline/seed_worth.h.
// Training thread.

#include <cstdint>
#include <string>

#include "tolaria/evaluation/evaluation.h"

namespace esper::tolaria {

// How many epochs a control may train that begins where the run stands; 0 with the reason.
struct ControlLength {
  std::uint32_t epochs = 0;
  std::string reason;
};
// The least of growth.control.epochs, what growth.control.budget leaves, and the epochs left in the run. It depends on
// steps alone, never on time, so that a resumed run decides alike.
ControlLength control_length(const RunFacts& facts, const RunProgress& progress);

struct TrainedControl {
  enum class End {
    kTrained,
    kLeftOut,      // for `reason`
    kInterrupted,  // by a signal
  } end = End::kLeftOut;
  SeedControl control{};   // kTrained; shorter than planned if its loss was not finite, with the reason
  std::int64_t steps = 0;  // trained, also where there is no control
  double took_ms = 0;
  std::string reason{};
};

// Eager steps on the batches of the epochs after `progress`, which is between two epochs, with the same learning rates
// and random numbers; averaged parameters are validated if the run keeps them. The run's state is unchanged, to the
// bit, random number generators included.
TrainedControl train_control(const Evaluation& evaluation, const RunProgress& progress);

}  // namespace esper::tolaria
