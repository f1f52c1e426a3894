#pragma once
// What a run will take of memory and disk, estimated from above before it begins. Pure functions. Any thread.

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/facts/estimate.h"
#include "config/run_config.h"
#include "leyline/blueprint/sample_shape.h"

namespace esper::config {

// What the run's files say, as far as it is cheap to know.
struct RunInputs {
  std::optional<leyline::SampleShape> sample{};  // nothing: not known without reading the data
  std::int64_t data_bytes = 0;                   // of the data's files
  std::int64_t host_bytes = 0;                   // of an exported host's weights

  bool operator==(const RunInputs&) const = default;
};

enum class RunsOn { kCpu, kGpu };
RunForecast forecast(const RunConfig& config, const RunInputs& inputs, RunsOn device);
// Whether the forecast depends on this field of a run file ("data.batch_size"), be it through a default that follows
// it, with the same inputs on the same kind of device.
bool forecast_reads(std::string_view field);

}  // namespace esper::config
