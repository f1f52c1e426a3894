#pragma once
// The rows of a table: a CSV text whose first line names the columns. Any thread.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/input_error.h"
#include "data/files/raw_samples.h"
#include "data/files/table_encoding.h"

namespace esper::data {

// A text, and the name that messages call it by.
struct TableText {
  std::filesystem::path file;
  std::string_view text;
};

// The names of the columns. Throws Error{kData} where the first line does not name each of them, or two alike.
std::vector<std::string> table_header(const TableText& table);

// The cells of one column, one a row.
struct TableCells {
  std::vector<float> numbers;       // not a number where the cell is empty
  std::vector<std::int32_t> codes;  // of words: their place in `words`
  std::vector<std::string> words;   // in order of appearance
};

struct TableRows {
  std::vector<TableCells> inputs;   // as in the encoding
  RawSamples targets;               // without values
  std::vector<std::int64_t> lines;  // where each row begins, from 1
};

enum class TargetColumns { kRead, kIgnored };

// The rows that can be read; of the encoding, only names and kinds of the columns and what becomes of empty cells
// count. A cell that is empty or NA, N/A, NaN or null is missing. A row with another number of cells than the header, a
// cell that is no finite number, a missing number where that is to fail, or no valid target is a bad sample. Throws
// Error{kData} naming line and column.
TableRows read_rows(const TableText& table, const TableEncoding& encoding, TargetColumns targets,
                    const ReadOptions& options, BadSamples& bad);

// Learns the words of each column and what an empty cell counts as from these rows. Throws Error{kData} where a column
// has too many different words, or none of its cells gives a mean.
void learn_encoding(TableEncoding& encoding, const TableRows& rows, const std::vector<std::int64_t>& chosen,
                    const std::filesystem::path& file);

// These rows as the network takes them. A word that the encoding does not know leaves all inputs of its column 0.
std::vector<float> encode_rows(const TableEncoding& encoding, const TableRows& rows,
                               const std::vector<std::int64_t>& chosen);

}  // namespace esper::data
