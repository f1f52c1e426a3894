#pragma once
// A data set in memory and how it is loaded. Start here.

#include <optional>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/readers/test_part.h"
#include "data/standardization.h"
#include "leyline/sample_shape.h"

namespace esper::data {

// One part (training, validation or test). Immutable once loaded; read by any number of threads.
struct Dataset {
  torch::Tensor inputs;   // features [N, F], images [N, C, H, W]: uint8 pixels or float32; sequences: int64 [tokens]
  torch::Tensor targets;  // int64 [N]; undefined for sequences, whose target is the input one token later
  torch::Tensor windows;  // sequences: int64 [N], the token where sample i begins; else undefined
  leyline::SampleShape shape;
  std::vector<std::string> class_names;  // of sequences: the characters; empty where the format has none
};

std::int64_t num_samples(const Dataset& dataset);

struct Splits {
  Dataset train, validation;
  std::optional<Dataset> test;      // only where it was to be read and the configuration names one
  Standardization standardization;  // measured on the training part; empty if switched off or for sequences
  std::int64_t skipped = 0;         // bad samples passed over (data.bad_sample: skip)
};

// Reads and splits what the configuration names. The result is a function of configuration and files alone; training
// and validation part do not depend on whether the test part is read, for which its files must exist in either case.
// Throws base::Error: kData names file and place; kConfig if data.shape or another key does not fit the data.
Splits load_dataset(const config::DataConfig& config, TestPart test = TestPart::kUnread);

}  // namespace esper::data
