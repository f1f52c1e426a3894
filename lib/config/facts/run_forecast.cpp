#include "config/facts/run_forecast.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "config/facts/network_size.h"

namespace esper::config {
namespace {

constexpr std::int64_t kKibibyte = 1 << 10, kMebibyte = 1 << 20, kGibibyte = 1 << 30;
constexpr std::int64_t kNumber = 4;  // bytes of a float32

// Resident, measured on x86-64 with libtorch 2.x for CPUs: the process with its
// libraries and code that runs, and each thread's own allocations and kernels' scratch memory.
constexpr std::int64_t kProcessBytes = 160 * kMebibyte;
constexpr std::int64_t kThreadBytes = 8 * kMebibyte;
constexpr int kThreadsWhereAll = 4;  // counted for device.threads 0
// The compiler's worker beside it: Python with PyTorch, or the C++ compiler that it starts.
constexpr std::int64_t kCompilerBytes = 1600 * kMebibyte;
// Beside the tensors of a process that uses a GPU, on the host and on the device: libraries, context, workspaces. From
// assumptions; nothing of this was measured on a GPU.
constexpr std::int64_t kCudaHostBytes = 2 * kGibibyte;
constexpr std::int64_t kCudaDeviceBytes = 1 * kGibibyte;

// What is not a tensor of a checkpoint: its manifest, the run's progress, random states.
constexpr std::int64_t kCheckpointBytes = 256 * kKibibyte;
// Telemetry, journal and decisions of one epoch, seeds included.
constexpr std::int64_t kEpochReportBytes = 24 * kKibibyte;

// Named parts of a sum.
class MemoryParts {
 public:
  void add(std::string name, std::int64_t bytes) {
    if (bytes > 0) parts_.emplace_back(std::move(name), bytes);
  }
  Estimate sum() const {
    Estimate estimate;
    std::string text;
    for (const auto& [name, bytes] : parts_) {
      estimate.bytes += bytes;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, bytes_text(bytes));
    }
    estimate.parts = text;
    return estimate;
  }

 private:
  std::vector<std::pair<std::string, std::int64_t>> parts_;
};

std::int64_t moments_of(const OptimizerConfig& optimizer) {
  if (optimizer.kind == OptimizerKind::kAdamw) return 2;
  return optimizer.momentum > 0 ? 1 : 0;
}

// Gradients, and what an optimizer that updates all parameters in one call makes of them. Measured: 4.4.
constexpr std::int64_t kUpdateNumbers = 5;

// How many numbers a checkpoint has for each parameter: itself, its moments, its average.
std::int64_t kept_numbers(const TrainingConfig& training) {
  return 1 + moments_of(training.optimizer) + (training.ema_decay > 0 ? 1 : 0);
}

// A lane other than eager is recorded and compared with eager: states from before and after of both, and all that the
// recorded step makes. Measured: 14 numbers for each parameter with AdamW.
constexpr std::int64_t kLaneCopies = 5;

bool may_grow(const RunConfig& config) { return config.growth.enabled && config.policy.kind != PolicyKind::kNone; }

// Copies of all that a step may change, beside it: while a lane is checked, and for the control that a seed is measured
// against.
std::int64_t state_copies(const RunConfig& config) {
  const bool has_control = may_grow(config) && config.growth.gates.evidence == Evidence::kControl;
  return (config.step.lane == Lane::kEager ? 0 : kLaneCopies) + (has_control ? 1 : 0);
}

// Of the copy to go back to, which is on the host.
std::int64_t good_state_bytes(const RunConfig& config, std::int64_t state_bytes) {
  const std::int64_t limit = config.safety.snapshot_limit_mb * kMebibyte;
  const bool fits = limit == 0 || state_bytes <= limit;
  return fits && (may_grow(config) || config.safety.may_react()) ? state_bytes : 0;
}

struct Network {
  std::int64_t parameter_bytes = 0, buffer_bytes = 0, activation_bytes = 0;  // of the grown network; of one microbatch
  std::int64_t state_bytes = 0;                                              // what a checkpoint has of it
};

std::optional<Network> grown_network(const RunConfig& config, const RunInputs& inputs, RunForecast& forecast) {
  NetworkSize size;
  if (config.host.kind == HostKind::kExported) {
    if (inputs.host_bytes == 0) return std::nullopt;
    size.parameters = inputs.host_bytes / kNumber;
  } else {
    const auto host = inputs.sample ? host_size(config.host, *inputs.sample) : std::nullopt;
    if (!host) return std::nullopt;
    size = *host;
  }
  const NetworkSize growth = most_growth(config, inputs.sample.value_or(leyline::SampleShape{}));
  forecast.parameters = size.parameters;
  forecast.grown_parameters = growth.parameters;
  Network network;
  network.parameter_bytes = (size.parameters + growth.parameters) * kNumber;
  network.buffer_bytes = size.buffers * kNumber;
  network.activation_bytes = (size.activations + growth.activations) * config.data.batch_size * kNumber;
  network.state_bytes = network.parameter_bytes * kept_numbers(config.training) + network.buffer_bytes;
  return network;
}

// Samples in memory at the peak of reading them: docs/data.md, section Memory, has what each format takes.
std::int64_t data_bytes(const RunConfig& config, const RunInputs& inputs) {
  const DataConfig& data = config.data;
  switch (data.kind) {
    case DataKind::kSynthetic:
      return data.synthetic.samples * (2 * data.synthetic.features * kNumber + 48);
    case DataKind::kDigits:
      return data.path.empty() ? 2 * kMebibyte : 3 * inputs.data_bytes;
    case DataKind::kText:
      return 12 * inputs.data_bytes;
    case DataKind::kTokens:
    case DataKind::kProcess:
      return inputs.data_bytes / 16;
    case DataKind::kNpy:
    case DataKind::kMnist:
    case DataKind::kCifar10:
      return 2 * inputs.data_bytes;
    case DataKind::kCsv:
    case DataKind::kTable:
    case DataKind::kParquet:
    case DataKind::kDatasets:
      return 4 * inputs.data_bytes;
    case DataKind::kImages:  // compressed in the files: as pixels several times that
    case DataKind::kWebdataset:
      return 12 * inputs.data_bytes;
  }
  return 0;
}

std::int64_t sample_numbers(const leyline::SampleShape& sample) {
  std::int64_t numbers = 1;
  for (const std::int64_t size : sample.sizes()) numbers *= size;
  return numbers;
}

std::int64_t batch_bytes(const RunConfig& config, const RunInputs& inputs) {
  const std::int64_t one = inputs.sample ? (sample_numbers(*inputs.sample) + 1) * 8 : 0;
  const std::int64_t ready = config.data.workers > 0 ? config.data.prefetch + config.data.workers : 1;
  return one * config.data.batch_size * (ready + config.step.accumulation);
}

std::string unknown_network(const RunConfig& config) {
  return config.host.kind == HostKind::kExported
             ? "unknown: the exported host's weights cannot be read"
             : fmt::format("unknown: the run file does not show what samples of kind {} look like",
                           base::name_of(config.data.kind));
}

void add_network(MemoryParts& parts, const RunConfig& config, const Network& network) {
  parts.add("parameters, moments and averages", network.state_bytes);
  parts.add("gradients and the update", kUpdateNumbers * network.parameter_bytes);
  parts.add("copies of the state", state_copies(config) * network.state_bytes);
  // What is recorded lives until the recording ends: measured, less than a quarter more.
  const std::int64_t kept = config.step.lane == Lane::kEager ? 0 : network.activation_bytes / 4;
  parts.add("activations", network.activation_bytes + kept);
}

Estimate memory_of(const RunConfig& config, const RunInputs& inputs, const std::optional<Network>& network,
                   RunsOn device) {
  if (!network) return {0, unknown_network(config)};
  MemoryParts parts;
  if (device == RunsOn::kCpu) add_network(parts, config, *network);
  parts.add("the state to go back to", good_state_bytes(config, network->state_bytes));
  parts.add("saving", network->state_bytes);
  parts.add("data", data_bytes(config, inputs));
  parts.add("batches", batch_bytes(config, inputs));
  const int threads = config.device.threads > 0 ? config.device.threads : kThreadsWhereAll;
  const bool compiles = config.step.lane == Lane::kCompiled || config.step.lane == Lane::kAuto;
  if (compiles) parts.add("compiler", std::min(kCompilerBytes, config.step.compile.memory_limit_mb * kMebibyte));
  parts.add("process", kProcessBytes + kThreadBytes * (config.data.workers + threads) +
                           (device == RunsOn::kGpu ? kCudaHostBytes : 0));
  return parts.sum();
}

Estimate device_memory_of(const RunConfig& config, const RunInputs& inputs, const std::optional<Network>& network) {
  if (!network) return {0, unknown_network(config)};
  MemoryParts parts;
  add_network(parts, config, *network);
  parts.add("batches", batch_bytes(config, inputs));
  if (config.data.gpu_dataset == Resident::kOn) parts.add("data", 4 * data_bytes(config, inputs));
  parts.add("CUDA", kCudaDeviceBytes);
  return parts.sum();
}

Estimate checkpoint_of(const RunConfig& config, const std::optional<Network>& network) {
  if (!network) return {0, unknown_network(config)};
  MemoryParts parts;
  parts.add("parameters, moments and averages", network->state_bytes);
  parts.add("progress", kCheckpointBytes);
  return parts.sum();
}

Estimate disk_of(const RunConfig& config, const Estimate& checkpoint) {
  MemoryParts parts;
  const std::int64_t kept = config.checkpoint.keep_last + (config.checkpoint.keep_best ? 1 : 0) + 1;
  parts.add(fmt::format("{} checkpoints", kept), kept * checkpoint.bytes);
  const std::int64_t reports = config.epochs * kEpochReportBytes;
  const std::int64_t limit = config.telemetry.limit_mb * kMebibyte;
  parts.add("telemetry", limit > 0 ? std::min(limit, reports) : reports);
  Estimate estimate = parts.sum();
  if (checkpoint.bytes == 0) estimate.parts += "; checkpoints " + checkpoint.parts;
  return estimate;
}

// By forecast(), or by fit_defaults() for one of these.
constexpr std::string_view kFieldsRead[] = {
    "checkpoint.keep_best",
    "checkpoint.keep_last",
    "data.batch_size",
    "data.context",
    "data.gpu_dataset",
    "data.image_size",
    "data.kind",
    "data.path",
    "data.prefetch",
    "data.shape",
    "data.synthetic.features",
    "data.synthetic.samples",
    "data.workers",
    "device.threads",
    "epochs",
    "growth.blueprints",
    "growth.deepen.copies",
    "growth.deepen.form",
    "growth.enabled",
    "growth.gates.evidence",
    "growth.kind",
    "growth.slots",
    "growth.training",
    "host.base_channels",
    "host.blocks",
    "host.dropout",
    "host.embedding",
    "host.heads",
    "host.hidden",
    "host.kernel",
    "host.kind",
    "host.layers",
    "host.modules",
    "host.path",
    "host.pool_layers",
    "host.residual_blocks",
    "host.segments",
    "policy.kind",
    "policy.schedule",
    "safety.most_rate_cuts",
    "safety.most_skipped_steps",
    "safety.snapshot_limit_mb",
    "step.accumulation",
    "step.compile.memory_limit_mb",
    "step.lane",
    "task",
    "telemetry.limit_mb",
    "training.ema_decay",
    "training.optimizer.kind",
    "training.optimizer.momentum",
};

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  if (bytes >= kGibibyte) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / kGibibyte);
  if (bytes >= kMebibyte) return fmt::format("{} MiB", (bytes + kMebibyte / 2) / kMebibyte);
  return fmt::format("{} KiB", (bytes + kKibibyte - 1) / kKibibyte);
}

RunForecast forecast(const RunConfig& config, const RunInputs& inputs, RunsOn device) {
  RunForecast forecast;
  const auto network = grown_network(config, inputs, forecast);
  forecast.memory = memory_of(config, inputs, network, device);
  if (device == RunsOn::kGpu) forecast.device_memory = device_memory_of(config, inputs, network);
  forecast.checkpoint = checkpoint_of(config, network);
  forecast.disk = disk_of(config, forecast.checkpoint);
  return forecast;
}

bool forecast_reads(std::string_view field) { return std::ranges::count(kFieldsRead, field) > 0; }

}  // namespace esper::config
