#include "tolaria/checkpoint/step_bundle.h"

#include <nlohmann/json.hpp>

#include "base/text/json_fields.h"
#include "history/bundle_config.h"
#include "history/run_config.h"
#include "kasmina/tensor/stored_tensor.h"
#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "storage/safetensors/safetensors.h"

namespace esper::tolaria {
namespace {

using nlohmann::json;
using storage::ByteSink;
using storage::ReadFailure;

constexpr std::uint64_t kMaxBatchBytes = 1ull << 36;
constexpr std::uint64_t kMaxFactsBytes = 1 << 20;
constexpr char kBatchName[] = "batch.safetensors";
constexpr int kFormat = 1;

json to_json(const StepFacts& facts) {
  return {{"format", kFormat},
          {"run_id", facts.run_id},
          {"step", facts.step},
          {"epoch", facts.epoch},
          {"first_batch", facts.first_batch},
          {"batches_per_epoch", facts.batches_per_epoch},
          {"reason", facts.reason},
          {"learning_rate", facts.learning_rate},
          {"rate_factor", facts.rate_factor},
          {"lane", facts.lane},
          {"goes_on", facts.goes_on}};
}

base::Expected<StepFacts, ReadFailure> read_facts(base::FileSystem& files, const std::string& path) {
  const auto bytes = storage::read_file(files, path, kMaxFactsBytes);
  try {
    const json saved = json::parse(storage::text_of(bytes));
    if (saved.at("format") != kFormat) return storage::unreadable("step.json is of another version");
    return StepFacts{saved.at("run_id"),
                     base::whole_at<std::int64_t>(saved, "step"),
                     base::whole_at<std::uint32_t>(saved, "epoch"),
                     base::whole_at<std::int64_t>(saved, "first_batch"),
                     base::whole_at<std::int64_t>(saved, "batches_per_epoch"),
                     saved.at("reason"),
                     saved.at("learning_rate"),
                     saved.at("rate_factor"),
                     saved.at("lane"),
                     saved.value("goes_on", std::vector<bool>())};
  } catch (const json::exception& error) {
    return storage::unreadable("step.json is not understood: " + base::plain_reason(error));
  }
}

base::Expected<std::vector<kasmina::NamedTensor>, ReadFailure> read_batch(base::FileSystem& files,
                                                                          const std::string& path) {
  const auto loaded = storage::load_safetensors(files, path, kMaxBatchBytes);
  if (!loaded) return storage::unreadable(std::string(kBatchName) + ": " + loaded.error().problem);
  std::vector<kasmina::NamedTensor> batch;
  for (const auto& view : loaded->contents.tensors) {
    auto tensor = kasmina::tensor_of(view);
    if (!tensor) return storage::unreadable(std::string(kBatchName) + ": " + tensor.error());
    batch.push_back(std::move(*tensor));
  }
  return batch;
}

}  // namespace

void write_step_bundle(base::FileSystem& files, const std::string& path, const StepBundle& bundle,
                       const std::string& config) {
  std::vector<storage::TensorView> batch;
  for (const auto& tensor : bundle.batch) batch.push_back(kasmina::view_of(tensor));
  const std::string facts = to_json(bundle.facts).dump(2, ' ', false, json::error_handler_t::replace);
  write_checkpoint(files, path, bundle.state,
                   {{kBatchName, [&](const ByteSink& sink) { storage::write_safetensors(batch, {}, sink); }},
                    {history::kBundleStepFile, [&](const ByteSink& sink) { sink(storage::bytes_of(facts)); }},
                    {history::kRunConfigFile, [&](const ByteSink& sink) { sink(storage::bytes_of(config)); }}});
}

base::Expected<StepBundle, ReadFailure> read_step_bundle(base::FileSystem& files, const std::string& path) {
  auto state = read_image(files, path);
  if (!state) return base::failure(state.error());
  auto facts = read_facts(files, path + "/" + history::kBundleStepFile);
  if (!facts) return base::failure(facts.error());
  auto batch = read_batch(files, path + "/" + kBatchName);
  if (!batch) return base::failure(batch.error());
  return StepBundle{std::move(*state), std::move(*batch), std::move(*facts)};
}

}  // namespace esper::tolaria
