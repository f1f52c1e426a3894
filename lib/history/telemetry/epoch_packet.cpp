#include "history/telemetry/epoch_packet.h"

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/parse_number.h"
#include "base/text/json_fields.h"
#include "config/training_config.h"

namespace esper::history {

std::optional<std::uint32_t> epoch_of(const nlohmann::json& packet) {
  const nlohmann::json& indicators = base::member(base::member(packet, "system_health"), "indicators");
  return base::parse_number<std::uint32_t>(base::text_at(indicators, "epoch"));
}

std::string_view validation_figure(std::string_view metric) {
  constexpr std::string_view kPrefix = "tolaria.validation.";
  if (!metric.starts_with(kPrefix)) return {};
  const std::string_view figure = metric.substr(kPrefix.size());
  return base::from_name<config::Metric>(figure) ? figure : std::string_view();
}

}  // namespace esper::history
