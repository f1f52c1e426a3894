#pragma once
#include <string>

#include "data/files/raw_samples.h"
#include "data/readers/test_part.h"

namespace esper::data {

// data.path, as messages name it.
std::string name_of_data(const config::DataConfig& config);

// The samples of all parts that the run file names, not those that are split off (images alone are split here: before
// they are decoded). Where it names no test part, one that the data bring along validates. Shapes and classes of the
// parts fit each other. Not for text. Throws base::Error.
RawParts read_samples(const config::DataConfig& config, TestPart test, const ReadOptions& options);

}  // namespace esper::data
