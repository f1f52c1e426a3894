#include "engine/bench/workload.h"

#include <fmt/core.h>
#include <torch/types.h>

#include <fstream>
#include <random>
#include <utility>

#include "base/error.h"
#include "device/rng.h"
#include "engine/loaders.h"
#include "engine/python/find_python.h"

namespace esper::engine::bench {
namespace {

// 65 different characters, as many as the usual collection of plays has.
constexpr std::string_view kAlphabet = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kTextLength = 40'000;
constexpr std::uint64_t kTextSeed = 7;

void write_text(const std::string& path) {
  std::mt19937_64 random(kTextSeed);
  std::string text(kAlphabet);
  while (text.size() < kTextLength) text += kAlphabet[random() % kAlphabet.size()];
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

config::RunConfig with_made_up_text(config::RunConfig config, const Scratch& scratch) {
  if (config.data.kind != config::DataKind::kText) return config;
  config.data.path = scratch.path("made-up.txt");
  write_text(config.data.path);
  return config;
}

std::unique_ptr<Workload> prepare_workload(const config::RunConfig& config, const std::string& cache_dir) {
  auto workload = std::make_unique<Workload>(Workload{set_up(config, cache_dir), {}, {}});
  TrainingSetup& setup = workload->setup;
  const LoaderPointer train = open_loader(setup, setup.data.train, data::Order::kShuffled);
  Microbatches step;
  while (workload->steps.size() < kMaxSteps) {
    const auto batch = train->next();
    if (!batch || batch->size < config.data.batch_size) break;
    step.push_back({batch->inputs.to(setup.device), batch->targets.to(setup.device)});
    if (static_cast<int>(step.size()) == config.step.accumulation) {
      workload->steps.push_back(std::exchange(step, {}));
    }
  }
  if (workload->steps.empty()) {
    throw base::Error(base::ExitCode::kConfig,
                      fmt::format("the training data are smaller than one step of data.batch_size "
                                  "{} times step.accumulation {}; lower one of them",
                                  config.data.batch_size, config.step.accumulation));
  }
  return workload;
}

void prepare_compiling(Workload& workload, const std::string& cache_dir) {
  TrainingSetup& setup = workload.setup;
  workload.no_compiler = find_python().problem;
  if (!workload.no_compiler.empty()) {
    setup.compile_service = nullptr;
  } else {  // a benchmark waits for what it measures
    setup.compile_service =
        make_compile_service(setup.config, setup.device, cache_dir, program::WorkerPriority::kNormal);
  }
}

std::unique_ptr<step::Model> fresh_model(const Workload& workload) {
  const TrainingSetup& setup = workload.setup;
  device::seed_all(setup.config.seed);
  auto model = step::build_model(setup.config, setup.data.train.shape, setup.settings, setup.device);
  step::set_learning_rate(model->state, setup.config.training.optimizer.lr);
  return model;
}

}  // namespace esper::engine::bench
