#include "engine/policy/gnn_policy.h"

#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "device/select.h"
#include "engine/training_setup.h"
#include "storage/real_file_system.h"
#include "tamiyo/gnn_controller.h"
#include "tamiyo/network/agreement.h"
#include "tamiyo/network/bf16_products.h"
#include "tamiyo/network/initial_weights.h"
#include "tamiyo/network/policy_file.h"
#include "tamiyo/network/policy_network.h"

namespace esper::engine {
namespace {

using config::RunConfig;

[[noreturn]] void reject_file(const std::string& reason) {
  throw base::Error(
      base::ExitCode::kPolicy,
      fmt::format(
          "policy.file: {}; name a file of the policy network's weights, or leave it empty for an untrained network",
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

std::uint64_t seed_of(const RunConfig& config) {
  return config.policy.gnn.seed != 0 ? config.policy.gnn.seed : config.seed;
}

tamiyo::PolicyFile policy_of(const RunConfig& config) {
  if (config.policy.file.empty()) return {tamiyo::initial_weights(seed_of(config))};
  return read_policy(config.policy.file);
}

tamiyo::GnnSettings settings_of(const RunConfig& config, const tamiyo::PolicyFile& file) {
  tamiyo::GnnSettings settings;
  settings.choice.seed = seed_of(config);
  settings.choice.temperature = config.policy.gnn.temperature;
  settings.choice.max_seeds = config.growth.max_seeds;
  settings.rules = {config.policy.heuristic, config.growth.gates, config.growth.training};
  settings.see_times = config.policy.gnn.see_times;
  settings.weights = tamiyo::fingerprint(file.weights);
  settings.normaliser = file.normaliser;
  return settings;
}

[[noreturn]] void reject_bf16(const std::string& reason) {
  throw base::Error(base::ExitCode::kPolicy,
                    fmt::format("policy.gnn.bf16: {}; turn it off, and the network decides in fp32", reason));
}

c10::Device device_of(const RunConfig& config) {
  return config.policy.gnn.device == config::NetworkDevice::kRun ? device::select_device(config.device.kind).device
                                                                 : c10::Device(c10::kCPU);
}

std::shared_ptr<tamiyo::PolicyNetwork> network_in_bf16(tamiyo::PolicyNetwork& exact) {
  if (!tamiyo::has_bf16_products(exact.weights().device())) {
    reject_bf16(exact.weights().device().is_cpu()
                    ? "this processor has no bf16 matrix instructions (avx512_bf16, amx_bf16)"
                    : "this GPU has no bf16 tensor cores");
  }
  auto network = std::make_shared<tamiyo::PolicyNetwork>(tamiyo::in_bf16(exact.weights()));
  const tamiyo::Agreement found = compare_decisions(*network, exact);
  if (!agree(found)) {
    reject_bf16(
        fmt::format("the network decides differently in {} of {} sample graphs, and its numbers differ by up to "
                    "{:.2g}; {} and {:.2g} are allowed",
                    found.graphs - found.same, found.graphs, found.largest_difference, tamiyo::kMostOtherwise,
                    tamiyo::kMostDifference));
  }
  return network;
}

}  // namespace

std::unique_ptr<leyline::Controller> make_gnn_controller(const RunConfig& config) {
  const auto file = policy_of(config);
  auto network = std::make_shared<tamiyo::PolicyNetwork>(on_device(tamiyo::fold(file.weights), device_of(config)));
  if (config.policy.gnn.bf16) network = network_in_bf16(*network);
  network->warm_up();
  return std::make_unique<tamiyo::GnnController>(
      [network](const tamiyo::HeteroGraph& graph) { return network->run(graph); }, settings_of(config, file));
}

std::unique_ptr<tamiyo::CompiledController> make_compiled_gnn(const RunConfig& config, const std::string& cache_dir) {
  const auto file = policy_of(config);
  const c10::Device device = device_of(config);
  return std::make_unique<tamiyo::CompiledController>(
      on_device(tamiyo::fold(file.weights), device),
      make_compile_service(config, device, cache_dir, program::WorkerPriority::kNormal),
      [&](tamiyo::GraphNetwork network) {
        return std::make_unique<tamiyo::GnnController>(std::move(network), settings_of(config, file));
      });
}

}  // namespace esper::engine
