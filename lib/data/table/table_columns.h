#pragma once
// Which columns of a table are what. Any thread.

#include <filesystem>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "config/task.h"
#include "data/files/table_encoding.h"

namespace esper::data {

// Inputs and targets as data.columns says, of a file whose first line names these columns; words and fills are still to
// be learnt. Throws Error{kConfig}: a column that is not there, named twice or both input and target, several targets
// of a classification.
TableEncoding chosen_columns(const std::vector<std::string>& header, const config::ColumnsConfig& config,
                             config::Task task, const std::filesystem::path& file);

// The field of each column in a file with this header. Throws Error{kData} naming a column that the file lacks.
std::vector<std::size_t> fields_of(const std::vector<std::string>& columns, const std::vector<std::string>& header,
                                   const std::filesystem::path& file);

}  // namespace esper::data
