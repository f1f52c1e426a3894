#pragma once
// How the columns of a table become a network's inputs. Plain data: with base/text/json_struct.h it goes into a file
// and back, so that new rows are encoded as those of the training were.

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "base/text/json_struct.h"
#include "config/data_config.h"

namespace esper::data {

struct TableInput {
  std::string name;
  bool is_word = false;
  std::vector<std::string> words =
      {};           // of the training part, sorted by bytes: each is an input, 1 where the cell is it
  double fill = 0;  // of numbers: what an empty cell counts as
};
constexpr auto json_members(const TableInput*) {
  using T = TableInput;
  return std::tuple{base::json_member("name", &T::name), base::json_member("is_word", &T::is_word),
                    base::json_member("words", &T::words), base::json_member("fill", &T::fill)};
}

struct TableEncoding {
  std::vector<TableInput> inputs;    // in this order; empty: the data are no table
  std::vector<std::string> targets;  // columns
  config::MissingValue missing = config::MissingValue::kFail;
};
constexpr auto json_members(const TableEncoding*) {
  using T = TableEncoding;
  return std::tuple{base::json_member("inputs", &T::inputs), base::json_member("targets", &T::targets),
                    base::json_member("missing", &T::missing)};
}

// Numbers of one encoded row.
inline std::int64_t encoded_width(const TableEncoding& encoding) {
  std::int64_t width = 0;
  for (const auto& input : encoding.inputs) width += input.is_word ? static_cast<std::int64_t>(input.words.size()) : 1;
  return width;
}

}  // namespace esper::data
