#include "engine/gnn_policy.h"

#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "storage/real_file_system.h"
#include "tamiyo/gnn_controller.h"
#include "tamiyo/network/initial_weights.h"
#include "tamiyo/network/policy_file.h"
#include "tamiyo/network/policy_network.h"

namespace esper::engine {
namespace {

using config::RunConfig;

[[noreturn]] void reject_file(const std::string& reason) {
  throw base::Error(base::ExitCode::kPolicy,
                    fmt::format("policy.file: {}; name a file of the policy network's weights, or leave it empty for a "
                                "network that has not learned",
                                reason));
}

tamiyo::PolicyFile read_policy(const std::string& path) {
  try {
    auto policy = tamiyo::load_policy(storage::real_file_system(), path);
    if (!policy) reject_file(policy.error());
    return *std::move(policy);
  } catch (const base::IoError& error) {
    reject_file(error.what());
  }
}

tamiyo::GnnSettings settings_of(const RunConfig& config, std::uint64_t seed) {
  tamiyo::GnnSettings settings;
  settings.choice.seed = seed;
  settings.choice.temperature = config.policy.gnn.temperature;
  settings.choice.max_seeds = config.growth.max_seeds;
  settings.rules = {config.policy.heuristic, config.growth.gates, config.growth.training};
  settings.see_times = config.policy.gnn.see_times;
  return settings;
}

}  // namespace

std::unique_ptr<leyline::Controller> make_gnn_controller(const RunConfig& config) {
  const auto& policy = config.policy;
  const auto seed = policy.gnn.seed != 0 ? policy.gnn.seed : config.seed;
  const tamiyo::PolicyFile file =
      policy.file.empty() ? tamiyo::PolicyFile{tamiyo::initial_weights(seed)} : read_policy(policy.file);
  auto settings = settings_of(config, seed);
  settings.weights = tamiyo::fingerprint(file.weights);
  settings.normaliser = file.normaliser;
  const auto network = std::make_shared<tamiyo::PolicyNetwork>(file.weights);
  network->warm_up();
  return std::make_unique<tamiyo::GnnController>(
      [network](const tamiyo::HeteroGraph& graph) { return network->run(graph); }, std::move(settings));
}

}  // namespace esper::engine
