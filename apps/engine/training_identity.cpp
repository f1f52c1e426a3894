#include "engine/training_identity.h"

#include "leyline/config/write.h"
#include "storage/checksum.h"

namespace esper::engine {
namespace {

std::string fingerprint(const data::Splits& data) {
  storage::Hash64 hash;
  for (const data::Dataset* part : {&data.train, &data.validation}) {
    for (const torch::Tensor* tensor : {&part->inputs, &part->targets, &part->windows}) {
      if (!tensor->defined()) continue;
      const torch::Tensor flat = tensor->contiguous();
      hash.update({static_cast<const std::byte*>(flat.const_data_ptr()), flat.nbytes()});
    }
  }
  return storage::hex64(hash.digest());
}

std::string path_of(const leyline::DataConfig& data) {
  if (data.path.empty()) return {};
  return " in " + data.path + (data.validation_path.empty() ? "" : " and " + data.validation_path);
}

}  // namespace

std::string TrainingIdentity::mismatch(const std::string& saved) const {
  const auto dash = saved.find('-');
  const auto saved_configuration = saved.substr(0, dash);
  const auto saved_data = dash == std::string::npos ? std::string() : saved.substr(dash + 1);
  if (saved_configuration != configuration && saved_configuration != located) {
    return "it belongs to another configuration";
  }
  return saved_data == data ? "" : "the data" + data_path + " are not those it was trained on";
}

TrainingIdentity training_identity(const leyline::RunConfig& config, const data::Splits& data) {
  return {leyline::hash_text(leyline::training_hash(config)),
          leyline::hash_text(leyline::located_training_hash(config)), fingerprint(data), path_of(config.data)};
}

}  // namespace esper::engine
