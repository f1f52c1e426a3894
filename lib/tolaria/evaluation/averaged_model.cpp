#include "tolaria/evaluation/averaged_model.h"

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "device/rng.h"

namespace esper::tolaria {
namespace {

// At the beginning of the data while it lives, then where it was.
class BeginningScope {
 public:
  explicit BeginningScope(data::Loader& loader) : loader_(loader), kept_(loader.place()) { loader.seek(0, 0); }
  ~BeginningScope() { loader_.seek(kept_.epoch, kept_.batch); }
  BeginningScope(const BeginningScope&) = delete;
  BeginningScope& operator=(const BeginningScope&) = delete;

 private:
  data::Loader& loader_;
  data::BatchPlace kept_;
};

}  // namespace

AveragedModel::AveragedModel(step::Model& model, data::Loader& train, const config::RunConfig& config,
                             torch::Device device, std::chrono::nanoseconds after_signal)
    : parameters_(model.state), statistics_(model.network) {
  if (model.settings.ema_decay == 0 || !statistics_.exist()) return;
  const device::KeptRngState kept(device);
  device::seed_all(device::derive_seed(config.seed, "averaged statistics"));  // the same for every network of the run
  const BeginningScope beginning(train);
  std::int64_t left = std::min(data::batches_of(kStatisticsSamples, config.data.batch_size), train.num_batches());
  const auto next_inputs = [&]() -> std::optional<torch::Tensor> {
    if (left-- == 0 || base::Interrupt::requested_for(after_signal)) return std::nullopt;
    const auto batch = train.next(after_signal);
    return batch ? std::optional(batch->inputs.to(device)) : std::nullopt;
  };
  statistics_.recompute(next_inputs, model.settings.compute_type);
}

AveragedModel::AveragedModel(step::Model& model, const std::vector<kasmina::NamedTensor>& saved)
    : parameters_(model.state), statistics_(model.network) {
  if (model.settings.ema_decay == 0 || !statistics_.exist()) return;
  std::vector<kasmina::NamedTensor> own;
  for (const auto& [id, tensor] : saved) {
    if (id.starts_with(step::kAveragedTensors)) own.push_back({id.substr(step::kAveragedTensors.size()), tensor});
  }
  if (const auto put = statistics_.put(own); !put) {
    throw base::Error(base::ExitCode::kCheckpoint, "the averaged model cannot be used: " + put.error());
  }
}

std::vector<kasmina::NamedTensor> AveragedModel::statistics() const {
  auto copies = statistics_.copies();
  for (auto& [id, tensor] : copies) id.insert(0, step::kAveragedTensors);
  return copies;
}

bool needs_averaged_statistics(const step::Model& model) {
  return model.settings.ema_decay > 0 && step::BatchStatistics(model.network).exist();
}

std::vector<kasmina::NamedTensor> compute_averaged_statistics(step::Model& model, data::Loader& train,
                                                              const config::RunConfig& config, torch::Device device,
                                                              std::chrono::nanoseconds after_signal) {
  const auto statistics = AveragedModel(model, train, config, device, after_signal).statistics();
  const bool finite = std::ranges::all_of(
      statistics, [](const auto& it) { return torch::isfinite(it.tensor).all().template item<bool>(); });
  const bool is_whole = !base::Interrupt::requested_for(after_signal);
  return finite && is_whole ? statistics : std::vector<kasmina::NamedTensor>();
}

std::vector<kasmina::NamedTensor> averaged_statistics(step::Model& model, data::Loader& train,
                                                      const config::RunConfig& config, torch::Device device,
                                                      std::chrono::nanoseconds after_signal) {
  if (!needs_averaged_statistics(model) || base::Interrupt::requested_for(after_signal)) return {};
  try {
    return compute_averaged_statistics(model, train, config, device, after_signal);
  } catch (const base::Error& error) {
    if (error.code() != base::ExitCode::kData) throw;  // what is saved then is the state alone
    return {};
  }
}

}  // namespace esper::tolaria
