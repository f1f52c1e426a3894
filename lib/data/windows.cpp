#include "data/windows.h"

#include <fmt/core.h>

#include "data/adopt.h"
#include "data/files/input_error.h"
#include "data/order/selection.h"

namespace esper::data {

torch::Tensor window_starts(std::int64_t tokens, const config::DataConfig& config, const std::string& file,
                            const char* unit) {
  const std::int64_t count = (tokens - 1) / config.context;
  if (tokens < 1 || count < 1) {
    fail_input(file, "",
               fmt::format("a part of {} {} is too short for data.context = {}", tokens, unit, config.context));
  }
  auto starts = evenly(count, config.max_samples);
  for (auto& start : starts) start *= config.context;
  const auto used = static_cast<std::int64_t>(starts.size());
  return adopt(std::move(starts), {used});
}

}  // namespace esper::data
