#include "engine/shortage.h"

#include <fmt/core.h>

#include "base/memory_room.h"
#include "config/facts/run_forecast.h"

namespace esper::engine {
namespace {

tolaria::Shortage shortage(const std::string& resource, const config::Estimate& need, std::int64_t available,
                           const std::string& limit) {
  return {resource, config::bytes_text(need.bytes), config::bytes_text(available),
          fmt::format("{}; {}", need.parts, limit)};
}

}  // namespace

std::vector<tolaria::Shortage> forecast_shortages(const TrainingSetup& setup, base::FileSystem& files,
                                                  const std::string& run_folder) {
  const auto on = setup.device.is_cpu() ? config::RunsOn::kCpu : config::RunsOn::kGpu;
  const auto forecast = config::forecast(setup.config, {.sample = setup.data.train.shape}, on);
  std::vector<tolaria::Shortage> found;
  const auto room = base::memory_room(base::system_memory());
  if (forecast.memory.bytes > room.bytes) {
    found.push_back(shortage("memory", forecast.memory, room.bytes, "limited by " + room.limit));
  }
  const auto free_bytes = static_cast<std::int64_t>(files.free_bytes(run_folder));
  if (forecast.disk.bytes > free_bytes) {
    found.push_back(shortage("disk", forecast.disk, free_bytes, "free in " + run_folder));
  }
  return found;
}

}  // namespace esper::engine
