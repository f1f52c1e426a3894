#include "engine/shortage.h"

#include <fmt/core.h>

#include "base/memory_room.h"
#include "config/facts/run_forecast.h"
#include "nissa/log.h"

namespace esper::engine {

void warn_of_shortage(const Workbench& bench, base::FileSystem& files, const std::string& run_folder) {
  const auto on = bench.device.is_cpu() ? config::RunsOn::kCpu : config::RunsOn::kGpu;
  const auto forecast = config::forecast(bench.config, {.sample = bench.data.train.shape}, on);
  const auto room = base::memory_room(base::system_memory());
  if (forecast.memory.bytes > room.bytes) {
    nissa::log::warning(fmt::format("the run may need {} of memory ({}), and {} can be used ({})",
                                    config::bytes_text(forecast.memory.bytes), forecast.memory.parts,
                                    config::bytes_text(room.bytes), room.limit));
  }
  const auto free_bytes = static_cast<std::int64_t>(files.free_bytes(run_folder));
  if (forecast.disk.bytes > free_bytes) {
    nissa::log::warning(fmt::format("the run may need {} on the disk ({}), and {} are free in {}",
                                    config::bytes_text(forecast.disk.bytes), forecast.disk.parts,
                                    config::bytes_text(free_bytes), run_folder));
  }
}

}  // namespace esper::engine
