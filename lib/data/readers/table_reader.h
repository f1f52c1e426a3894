#pragma once
#include <filesystem>

#include "data/files/input_error.h"
#include "data/files/raw_samples.h"
#include "data/files/table_encoding.h"
#include "data/readers/test_part.h"

namespace esper::data {

// A table with named columns (docs/data.md): of kind table, a CSV file, .gz too; of kinds parquet and datasets, what
// python_table.h makes a CSV text of, whose lines messages then name. Always returns training and validation
// part, which is split off where it has no file: the words and means of the encoding are those of the training part.
// The test part where it is to be read and the run names one. Throws Error{kData}, and Error{kConfig} for columns that
// are not there.
RawParts read_table(const config::DataConfig& config, const ReadOptions& options, BadSamples& bad,
                    TestPart test = TestPart::kUnread);

// Inputs and targets of another file by an encoding that was learnt before; columns are found by name. Throws
// Error{kData}.
RawSamples read_known_table(config::DataKind kind, const std::filesystem::path& file, const TableEncoding& encoding,
                            const ReadOptions& options, BadSamples& bad);
// Where the table of each part lies. Validation: empty where it is split off.
std::filesystem::path training_table(const config::DataConfig& config);
std::filesystem::path validation_table(const config::DataConfig& config);
std::filesystem::path test_table(const config::DataConfig& config);
// Of a saved data set of several parts.
constexpr const char* kSavedTestFolder = "test";

// Rows as a trained network takes them.
struct EncodedTable {
  std::vector<float> values;        // [rows, encoded_width()]
  std::vector<std::int64_t> lines;  // of each row, from 1
};

// The rows of a new CSV file by an encoding that was learnt before; columns are found by name, and targets need not be
// there. Throws Error{kData} naming what is missing or wrong.
EncodedTable encode_table(const std::filesystem::path& file, const TableEncoding& encoding, const ReadOptions& options,
                          BadSamples& bad);

}  // namespace esper::data
