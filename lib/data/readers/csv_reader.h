#pragma once
#include <filesystem>

#include "data/files/input_error.h"
#include "data/files/raw_samples.h"

namespace esper::data {

// Comma-separated numbers, the class in the last field; .gz too. docs/data.md describes the layout for users. Classes
// are whole numbers or names; numbers sort by value and names by bytes, and the index in that order is the label. For
// tasks multilabel and regression the last field is a number. A line that cannot be read is a bad sample. Throws
// Error{kData} naming line and field.
RawSamples read_csv(const std::filesystem::path& file, const ReadOptions& options, BadSamples& bad);

}  // namespace esper::data
