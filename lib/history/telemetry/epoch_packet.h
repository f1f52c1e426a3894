#pragma once
// What readers of many lines of telemetry take from a packet that reports an epoch. Any thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace esper::history {

// The epoch that a packet of any kind is of, counted from 1; 0 before the first. Nothing where it does not say it.
std::optional<std::uint32_t> epoch_of(const nlohmann::json& packet);

// The part of the metric's name that is a config::Metric: "loss" of "tolaria.validation.loss". Empty for other metrics.
std::string_view validation_figure(std::string_view metric);

}  // namespace esper::history
