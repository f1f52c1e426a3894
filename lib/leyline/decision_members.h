#pragma once
// The fields of a decision in JSON, for those who convert it (base/text/json_struct.h).

#include "base/text/json_struct.h"
#include "leyline/command.h"

namespace esper::leyline {

constexpr auto json_members(const CommandSeedOperation*) {
  using S = CommandSeedOperation;
  return std::tuple{base::json_member("operation", &S::operation), base::json_member("slot", &S::slot),
                    base::json_member("blueprint_id", &S::blueprint_id),
                    base::json_member("parameters", &S::parameters)};
}

constexpr auto json_members(const AdaptationCommand*) {
  using S = AdaptationCommand;
  return std::tuple{base::json_member("version", &S::version),
                    base::json_member("command_id", &S::command_id),
                    base::json_member("command_type", &S::command_type),
                    base::json_member("target_seed_id", &S::target_seed_id),
                    base::json_member("execution_deadline_ms", &S::execution_deadline_ms),
                    base::json_member("issued_at_ns", &S::issued_at_ns),
                    base::json_member("issued_by", &S::issued_by),
                    base::json_member("seed_operation", &S::seed_operation),
                    base::json_member("annotations", &S::annotations)};
}

constexpr auto json_members(const Assessment::Blending*) {
  using S = Assessment::Blending;
  return std::tuple{base::json_member("method", &S::method), base::json_member("method_index", &S::method_index),
                    base::json_member("schedule_start", &S::schedule_start),
                    base::json_member("schedule_end", &S::schedule_end)};
}

constexpr auto json_members(const Assessment*) {
  using S = Assessment;
  return std::tuple{base::json_member("value", &S::value),
                    base::json_member("risk", &S::risk),
                    base::json_member("risk_index", &S::risk_index),
                    base::json_member("coverage", &S::coverage),
                    base::json_member("family_coverage", &S::family_coverage),
                    base::json_member("network_ms", &S::network_ms),
                    base::json_member("seed_index", &S::seed_index),
                    base::json_member("blueprint_index", &S::blueprint_index),
                    base::json_member("seed_score", &S::seed_score),
                    base::json_member("blending", &S::blending)};
}

constexpr auto json_members(const Decision*) {
  using S = Decision;
  return std::tuple{base::json_member("commands", &S::commands), base::json_member("reason", &S::reason),
                    base::json_member("warnings", &S::warnings), base::json_member("assessment", &S::assessment),
                    base::json_member("details", &S::details)};
}

}  // namespace esper::leyline
