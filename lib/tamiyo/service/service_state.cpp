#include "tamiyo/service/service_state.h"

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/names.h"
#include "base/text/json_fields.h"

namespace esper::tamiyo {

namespace {

constexpr char kLastLoss[] = "last_validation_loss";
constexpr char kHeldBack[] = "held_back";

}  // namespace

nlohmann::json service_json(const ServiceState& state) {
  const auto& [breaker, mode, loss, held_back] = state;
  nlohmann::json saved = {{"breaker", base::name_of(breaker.state)},
                          {"breaker_failures", breaker.failures},
                          {"breaker_successes", breaker.successes},
                          {"conservative", mode.is_active},
                          {"calm_evaluations", mode.calm_evaluations}};
  if (loss) saved[kLastLoss] = *loss;
  if (!held_back.empty()) saved[kHeldBack] = held_back;
  return saved;
}

ServiceState read_service(const nlohmann::json& saved, base::Duration now) {
  ServiceState state;
  const auto breaker = base::from_name<BreakerState>(saved.at("breaker").get<std::string>());
  if (!breaker)
    throw base::Error(base::ExitCode::kCheckpoint, "the policy service's saved state: no state of a breaker");
  state.breaker = {
      *breaker, base::whole_at<int>(saved, "breaker_failures"), base::whole_at<int>(saved, "breaker_successes"), {}};
  if (*breaker == BreakerState::kOpen) state.breaker.opened_at = now;
  state.mode = {saved.at("conservative"), base::whole_at<int>(saved, "calm_evaluations")};
  state.last_validation_loss = base::optional_at<double>(saved, kLastLoss);
  state.held_back = saved.value(kHeldBack, std::vector<std::string>());
  return state;
}

void forget_loss(nlohmann::json& saved) { saved.erase(kLastLoss); }

}  // namespace esper::tamiyo
