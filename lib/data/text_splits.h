#pragma once
#include "data/dataset.h"
#include "data/files/raw_samples.h"

namespace esper::data {

// Data of kind text: its characters are the tokens, its parts lie one behind the other. The characters of data.path and
// data.validation_path are all that there are; another one in data.test_path is a bad sample. Throws base::Error.
Splits split_text(const config::DataConfig& config, TestPart test, const ReadOptions& options);

// The text at data.test_path alone, in the tokens of a training whose vocabulary is `class_names`. Throws likewise.
Dataset load_other_text(const config::DataConfig& config, const std::vector<std::string>& class_names,
                        const ReadOptions& options);

}  // namespace esper::data
