#pragma once
// Whether a growth can pay in the epochs that are left: how long a seed takes to become part of the host and what it is
// worth, from the run's earlier seeds, against what the same time would bring without it. Pure functions of counted
// figures and measured losses, never of wall times, so that a resumed run decides alike. Any thread.

#include <string>

#include "base/expected.h"
#include "leyline/observation.h"
#include "tamiyo/growth_guards.h"

namespace esper::tamiyo {

struct Prospect {
  const leyline::Observation& observation;
  const leyline::SlotState& slot;
  const std::string& blueprint;
};

// What is forecast, as text for the decision; or why the growth could not pay:
//
//   life  mean epochs from germination to fossil of the run's fossils of this blueprint, else of all; at least
//         horizon.shortest_life. Fewer epochs left cannot pay.
//   time  with r the share by which a step becomes more expensive (SlotState::step_costs) and L of the run's E epochs
//         left, these take as long with the seed as r L epochs more without it. The loss is taken to fall as
//         a + c / epoch, c from its change over the window, so that those would gain c (1 / E - 1 / (E + r L)).
//   gain  the best of the upper ends of what the run's fossils of this blueprint are worth in loss, where a control
//         measured it, else of their contribution in points. A gain below that of the time cannot pay. Without an
//         earlier seed, or an improvement that is shown, there is no objection.
base::Expected<std::string> forecast(const Prospect& prospect, const Horizon& horizon);

}  // namespace esper::tamiyo
