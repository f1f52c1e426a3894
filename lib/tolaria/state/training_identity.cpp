#include "tolaria/state/training_identity.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "config/writing/write.h"
#include "storage/bytes.h"
#include "storage/checksum.h"

namespace esper::tolaria {
namespace {

std::string fingerprint(const data::Splits& data) {
  storage::Hash64 hash;
  for (const data::Dataset* part : {&data.train, &data.validation}) {
    if (part->process) hash.update(storage::bytes_of(data::description_of(*part)));
    for (const torch::Tensor* tensor : {&part->inputs, &part->targets, &part->windows}) {
      if (!tensor->defined()) continue;
      const torch::Tensor flat = tensor->contiguous();
      hash.update({static_cast<const std::byte*>(flat.const_data_ptr()), flat.nbytes()});
    }
  }
  return storage::hex64(hash.digest());
}

constexpr char kOtherConfiguration[] = "it belongs to another configuration";
// With the same data, the checkpoint may hold a hash of an earlier version.
constexpr char kOtherPlace[] =
    ". If only data.path or device.kind was changed: checkpoints of earlier versions depend on the path of their data "
    "and on the device. Restore the data or a link at that path, and the device, and resume once with them; later "
    "checkpoints do not depend on them";

std::string path_of(const config::DataConfig& data) {
  if (data.path.empty()) return {};
  return " in " + data.path + (data.validation_path.empty() ? "" : " and " + data.validation_path);
}

// Without both paths, a test part that the data bring along validates.
std::string hint_of_test_part(const config::DataConfig& data) {
  if (data.test_path.empty() || !data.validation_path.empty()) return {};
  return ". If data.test_path was added: without it, the run was validated on the test part that comes with the data. "
         "Leave it out, and give it to esper evaluate --set data.test_path=PATH";
}

// Data that this version reads otherwise than earlier ones did.
std::string hint_of_reading(const config::DataConfig& data) {
  using config::DataKind;
  constexpr const char* kPngs = "PNGs with a gamma, a colour profile or 16 bits a channel";
  std::string read;
  if (data.kind == DataKind::kImages) read = fmt::format("folders val and valid (as validation data), and {},", kPngs);
  if (data.kind == DataKind::kWebdataset) read = fmt::format("arrays of uint8 (as pixels), and {},", kPngs);
  if (data.kind == DataKind::kCsv && !data.validation_path.empty())
    read = "validation columns that are in another order than those of the training file (by their names)";
  if (read.empty()) return {};
  return fmt::format(
      ". This version reads {} differently from earlier ones: continue a run of an earlier version on such data with "
      "that version (docs/runbook.md, Data that this version reads differently)",
      read);
}

}  // namespace

bool TrainingIdentity::has_data_of(const std::string& saved) const {
  const auto dash = saved.find('-');
  return dash != std::string::npos && saved.substr(dash + 1) == data;
}

base::Expected<void> TrainingIdentity::check_data(const std::string& saved) const {
  if (has_data_of(saved)) return {};
  return base::failure(fmt::format("the data{} differ from its training data{}", data_path, data_hint));
}

base::Expected<void> TrainingIdentity::check(const std::string& saved) const {
  const auto saved_configuration = saved.substr(0, saved.find('-'));
  if (saved_configuration != configuration && std::ranges::count(earlier, saved_configuration) == 0) {
    return base::failure(fmt::format("{}{}", kOtherConfiguration, has_data_of(saved) ? kOtherPlace : ""));
  }
  return check_data(saved);
}

TrainingIdentity training_identity(const config::RunConfig& config, const data::Splits& data) {
  std::vector<std::string> earlier;
  for (const std::uint64_t hash : config::earlier_training_hashes(config)) earlier.push_back(base::hash_text(hash));
  return {base::hash_text(config::training_hash(config)), std::move(earlier), fingerprint(data), path_of(config.data),
          hint_of_test_part(config.data) + hint_of_reading(config.data)};
}

}  // namespace esper::tolaria
