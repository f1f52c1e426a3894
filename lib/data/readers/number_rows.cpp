#include "data/readers/number_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text/printable.h"
#include "data/files/byte_file.h"
#include "data/files/csv_cursor.h"
#include "data/files/csv_field.h"
#include "data/files/input_error.h"
#include "data/files/memory_need.h"

namespace esper::data {
namespace {

class NumberRows {
 public:
  NumberRows(const std::filesystem::path& file, std::int64_t width, const std::vector<std::string>& names)
      : file_(file), names_(names), fields_(static_cast<std::size_t>(width)), width_(fields_.size()) {
    std::iota(fields_.begin(), fields_.end(), std::size_t{0});
  }

  std::vector<float> read(std::string_view text) {
    CsvCursor cursor(text);
    bool first = true;
    for (auto outcome = cursor.next(); outcome != CsvOutcome::kEnd; outcome = cursor.next(), first = false) {
      const auto& problem = cursor.problem();
      if (outcome == CsvOutcome::kMalformed) fail_input(file_, at_field(problem.line, problem.field), problem.reason);
      if (first && is_header(cursor.fields())) {
        match(cursor.fields());
      } else {
        add(cursor.fields());
      }
    }
    if (values_.empty()) fail_input(file_, "", "holds no rows of numbers");
    return std::move(values_);
  }

 private:
  static bool is_header(const std::vector<CsvField>& fields) {
    return std::ranges::none_of(fields, [](const CsvField& field) { return number_of(field.text).has_value(); });
  }

  // Where the names are not known, the order says which field is which.
  void match(const std::vector<CsvField>& header) {
    if (names_.empty()) return;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto is_it = [&](const CsvField& field) { return trimmed(field.text) == names_[i]; };
      const auto found = std::ranges::find_if(header, is_it);
      if (found == header.end() || std::ranges::count_if(header, is_it) > 1) {
        const auto* why = found == header.end() ? "is missing" : "occurs twice";
        fail_input(file_, fmt::format("line {}", header[0].line),
                   fmt::format("column {}, which the run was trained on, {}", base::in_quotes(names_[i]), why));
      }
      fields_[i] = static_cast<std::size_t>(found - header.begin());
    }
    width_ = header.size();
  }

  void add(const std::vector<CsvField>& row) {
    if (row.size() != width_) {
      const auto* hint = row.size() == width_ + 1 ? "; leave the target out" : "";
      fail_input(file_, fmt::format("line {}", row[0].line),
                 fmt::format("has {} fields, expected {}{}", row.size(), width_, hint));
    }
    for (const auto at : fields_) {
      const auto value = number_of(row[at].text);
      const auto place = at_field(row[at].line, static_cast<std::int64_t>(at) + 1);
      if (!value) fail_input(file_, place, "expected a number, found " + base::in_quotes(row[at].text));
      if (!std::isfinite(static_cast<float>(*value))) fail_input(file_, place, "is not a finite number");
      values_.push_back(static_cast<float>(*value));
    }
  }

  const std::filesystem::path& file_;
  const std::vector<std::string>& names_;
  std::vector<std::size_t> fields_;  // of each number
  std::size_t width_;                // fields of a row
  std::vector<float> values_;
};

}  // namespace

std::vector<float> read_number_rows(const std::filesystem::path& file, std::int64_t width,
                                    const std::vector<std::string>& names, const ReadOptions& options) {
  const auto bytes = read_bytes(file, options);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  refuse_utf16(file, text);
  const auto size = csv_size(text);
  require_memory(file, "its rows", (size.commas + size.lines) * 2 * std::int64_t{sizeof(float)}, options);
  return NumberRows(file, width, names).read(text);
}

}  // namespace esper::data
