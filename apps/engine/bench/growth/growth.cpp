#include "engine/bench/growth/growth.h"

#include "engine/bench/controllers.h"

namespace esper::engine::bench {
namespace {

constexpr std::uint32_t kFirstGrowth = 8, kLife = 8;

}  // namespace

config::RunConfig waiting_for_programs(config::RunConfig config) {
  if (config.step.lane == config::Lane::kAuto) config.step.lane = config::Lane::kCompiled;
  return config;
}

LoopFigures run_growing(const config::RunConfig& config, const Scratch& scratch, const std::string& name,
                        const std::string& cache_dir) {
  return run_loop(config, scratch, name, cache_dir, growing_controller(kFirstGrowth, kLife));
}

}  // namespace esper::engine::bench
