#include "esper/bench/scenarios.h"

#include <array>

#include "scenario_cnn.h"
#include "scenario_daemon.h"
#include "scenario_growth.h"
#include "scenario_mlp.h"
#include "scenario_mlp_wide.h"
#include "scenario_policy.h"
#include "scenario_reference.h"
#include "scenario_transformer.h"

namespace esper {

std::span<const Scenario> scenarios() {
  static constexpr std::array kAll{
      Scenario{"reference", scenario::kReference},     Scenario{"mlp", scenario::kMlp},
      Scenario{"mlp_wide", scenario::kMlpWide},        Scenario{"cnn", scenario::kCnn},
      Scenario{"transformer", scenario::kTransformer}, Scenario{"growth", scenario::kGrowth},
      Scenario{"policy", scenario::kPolicy},           Scenario{"daemon", scenario::kDaemon}};
  return kAll;
}

}  // namespace esper
