#pragma once
// A data set in memory and how it is loaded. Start here.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "config/task.h"
#include "data/files/table_encoding.h"
#include "data/readers/test_part.h"
#include "data/standardization.h"
#include "leyline/blueprint/sample_shape.h"

namespace esper::data {

class SampleProcess;

// One part (training, validation or test). Immutable once loaded; read by any number of threads.
struct Dataset {
  torch::Tensor
      inputs;  // features [N, F], images [N, C, H, W]: uint8 pixels or float32; sequences: [tokens] of int64, uint16
  // or int32, which lie in a mapped file
  // int64 [N], or [N, H, W] where each pixel has a class; float32 [N, K] for tasks multilabel (0 or 1) and regression;
  // undefined for sequences, whose target is the input one token later.
  torch::Tensor targets;
  torch::Tensor windows;  // sequences: int64 [N], the token where sample i begins; else undefined
  leyline::SampleShape shape;
  // Of sequences: the tokens' texts; of tasks multilabel and regression: the targets. Empty where the format has none.
  std::vector<std::string> class_names;
  std::vector<std::string> feature_names;  // of a sample's numbers under a header that names each; else empty
  std::string target_name;                 // of the target in such a header; else empty
  std::shared_ptr<SampleProcess> process;  // that produces the samples, of which the tensors hold none; null: they do
  TableEncoding table;                     // of data with named columns: how they became inputs; else empty
};

std::int64_t num_samples(const Dataset& dataset);
// What makes this part different from any other, beside its tensors: of a process, what it says of its samples.
std::string description_of(const Dataset& dataset);

struct Preprocessing;

struct Splits {
  Dataset train, validation;
  std::optional<Dataset> test;      // only where it was to be read and the configuration names one
  Standardization standardization;  // measured on the training part; empty if switched off or for sequences
  std::int64_t skipped = 0;         // bad samples passed over (data.bad_sample: skip)
  std::string first_skipped;        // the first of them, as the error would name it; empty: there is none
};

// Reads and splits what the configuration names. The result is a function of configuration and files alone; training
// and validation part do not depend on whether the test part is read, for which its files must exist in either case.
// Throws base::Error: kData names file and place; kConfig if data.shape or another key does not fit the data.
Splits load_dataset(const config::DataConfig& config, TestPart test = TestPart::kUnread,
                    config::Task task = config::Task::kClassification);

// All samples at data.test_path, whatever the other paths name, as the training that `like` is of saw its own: classes
// matched by name. A place that brings a test part along stands for that part. Throws likewise, and Error{kData} naming
// the file where it holds data of another kind.
Dataset load_other(const config::DataConfig& config, const Preprocessing& like);

}  // namespace esper::data
