#pragma once
// Tables in formats that Debian has no library for: a Python with pyarrow reads them (docs/decisions/0028).

#include <filesystem>

#include "config/data_config.h"
#include "data/files/raw_samples.h"

namespace esper::data {

// A table of kind parquet (a file, or a folder of them) or datasets (a folder that Hugging Face's save_to_disk() wrote)
// as the text of a CSV file: $ESPER_PYTHON, else the Python of scripts/bootstrap, writes it in a child process. Throws
// Error{kData}, naming the path, where the data are damaged or no such table, or where there is no Python with pyarrow;
// Error{kResources} where the text does not fit into memory.
Bytes read_python_table(config::DataKind kind, const std::filesystem::path& path, const ReadOptions& options);

}  // namespace esper::data
