#pragma once
// The control of a seed: before a graft the present network, without the seed, trains the epochs that the run itself
// will train next, and is validated after each; then everything is as it was. Definitions: leyline/seed_worth.h.
// Training thread.

#include <cstdint>
#include <string>

#include "base/expected.h"
#include "tolaria/evaluation/evaluation.h"

namespace esper::tolaria {

// Why a GERMINATE that needs a control cannot have one, and is rejected: without a control its seed could never pass.
struct NoControl {
  std::string code;  // of the rejected command
  std::string reason;
};

// How many epochs a control may train that begins where the run stands, at least 1: the least of growth.control.epochs,
// what growth.control.budget leaves, the epochs left in the run, and those until host.unfreeze_epoch. It depends on
// steps alone, never on time, so that a resumed run decides alike.
base::Expected<std::uint32_t, NoControl> control_length(const RunFacts& facts, const RunProgress& progress);
// The same, and that no seed is growing: it would change within the horizon, while it stays as it is in the control, so
// that they would differ by more than the seed in question.
base::Expected<std::uint32_t, NoControl> check_control(const RunFacts& facts, const RunProgress& progress,
                                                       const kasmina::Network& network);

struct TrainedControl {
  enum class End {
    kTrained,
    kRejected,     // as `rejection` says
    kInterrupted,  // by a signal
  } end = End::kRejected;
  SeedControl control{};    // kTrained
  std::string shortened{};  // kTrained: why it is shorter than planned, if it is
  NoControl rejection{};
  std::int64_t steps = 0;  // trained, also where there is no control
  double took_ms = 0;
};

// Eager steps on the batches of the epochs after `progress`, which is between two epochs, with the same learning rates
// and random numbers; averaged parameters are validated if the run keeps them. Rejected as check_control, without
// memory, and if the loss is not finite after the first epoch. The run's state is unchanged, to the bit, random number
// generators included.
TrainedControl train_control(const Evaluation& evaluation, const RunProgress& progress);

}  // namespace esper::tolaria
