#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "data/files/raw_samples.h"

namespace esper::data {

// Comma-separated numbers without targets, `width` of them to a row; .gz too. A first line in which no field is a
// number is a header. names: of the columns in the network's order, where they are known; the header then says which
// field is which, and others are passed over. Row after row. Throws Error{kData} naming line and field.
std::vector<float> read_number_rows(const std::filesystem::path& file, std::int64_t width,
                                    const std::vector<std::string>& names, const ReadOptions& options);

}  // namespace esper::data
