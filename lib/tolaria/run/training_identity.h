#pragma once
// Which training a checkpoint belongs to: its configuration, and its data by content. Where the data lies does not
// count, so a run whose files were moved goes on.

#include <string>

#include "base/expected.h"
#include "config/run_config.h"
#include "data/dataset.h"

namespace esper::tolaria {

struct TrainingIdentity {
  std::string configuration;  // hash of the configuration without the data's paths
  std::string located;        // the same with them: what checkpoints held before their data could move
  std::string data;           // fingerprint: hash of every sample and target of both parts
  std::string data_path;      // for messages

  // As a checkpoint holds it: "<configuration>-<data>".
  std::string text() const { return configuration + "-" + data; }
  // Fails with a reason if a checkpoint that holds `saved` is of another training.
  base::Expected<void> check(const std::string& saved) const;
};

TrainingIdentity training_identity(const config::RunConfig& config, const data::Splits& data);

}  // namespace esper::tolaria
