#pragma once
// Identifies the training of a checkpoint: its configuration, and its data by content. Paths of data do not count, so a
// run whose files were moved can be resumed.

#include <string>
#include <vector>

#include "base/expected.h"
#include "config/run_config.h"
#include "data/dataset.h"

namespace esper::tolaria {

struct TrainingIdentity {
  std::string configuration;         // config::training_hash()
  std::vector<std::string> earlier;  // the same as checkpoints of earlier versions hold it
  std::string data;                  // fingerprint: hash of every sample and target of training and validation part
  std::string data_path;             // for messages
  std::string data_hint;             // likewise: what may have changed the data

  // The text stored in checkpoints: "<configuration>-<data>".
  std::string text() const { return configuration + "-" + data; }
  // Whether a checkpoint that holds `saved` was trained and validated on this data.
  bool has_data_of(const std::string& saved) const;
  // Fails with a reason if it was not.
  base::Expected<void> check_data(const std::string& saved) const;
  // Fails with a reason if a checkpoint that holds `saved` is of another training.
  base::Expected<void> check(const std::string& saved) const;
};

TrainingIdentity training_identity(const config::RunConfig& config, const data::Splits& data);

}  // namespace esper::tolaria
