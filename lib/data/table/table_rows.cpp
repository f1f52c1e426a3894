#include "data/table/table_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

#include "base/expected.h"
#include "base/text/printable.h"
#include "data/files/class_names.h"
#include "data/files/csv_cursor.h"
#include "data/files/csv_field.h"
#include "data/files/memory_need.h"
#include "data/files/target_number.h"
#include "data/table/table_columns.h"

namespace esper::data {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

bool is_missing(std::string_view cell) {
  static constexpr std::array<std::string_view, 6> kWords{"", "NA", "N/A", "NaN", "nan", "null"};
  return std::find(kWords.begin(), kWords.end(), cell) != kWords.end();
}

std::vector<std::string> names_of(const std::vector<TableInput>& inputs) {
  std::vector<std::string> names;
  for (const auto& input : inputs) names.push_back(input.name);
  return names;
}

class RowReader {
 public:
  RowReader(const TableText& table, const TableEncoding& encoding, TargetColumns targets, const ReadOptions& options,
            BadSamples& bad)
      : table_(table), encoding_(encoding), options_(options), bad_(bad), header_(table_header(table)) {
    input_fields_ = fields_of(names_of(encoding.inputs), header_, table.file);
    if (targets == TargetColumns::kRead) target_fields_ = fields_of(encoding.targets, header_, table.file);
    rows_.inputs.resize(encoding.inputs.size());
    codes_.resize(encoding.inputs.size());
  }

  TableRows read() {
    const auto size = csv_size(table_.text);
    require_memory(table_.file, "its rows",
                   size.lines * static_cast<std::int64_t>(sizeof(float) * (input_fields_.size() + 4)), options_);
    CsvCursor cursor(table_.text);
    cursor.next();  // the header
    for (auto outcome = cursor.next(); outcome != CsvOutcome::kEnd; outcome = cursor.next()) {
      if (outcome == CsvOutcome::kMalformed) {
        const auto& problem = cursor.problem();
        bad_.report(table_.file, at_field(problem.line, problem.field), problem.reason);
      } else {
        add(cursor.fields());
      }
    }
    finish();
    return std::move(rows_);
  }

 private:
  // A row that cannot be read leaves nothing behind.
  void add(const std::vector<CsvField>& fields) {
    const auto line = fields[0].line;
    if (fields.size() != header_.size()) {
      bad_.report(table_.file, fmt::format("line {}", line),
                  fmt::format("the line has {} fields, the header names {}", fields.size(), header_.size()));
      return;
    }
    std::size_t at = 0;
    if (const auto read = read_row(fields, at); !read) {
      const auto place = fmt::format("line {}, column {}", fields[at].line, base::in_quotes(header_[at]));
      bad_.report(table_.file, place, read.error());
      return;
    }
    for (std::size_t i = 0; i < input_fields_.size(); ++i) keep_input(i, fields[input_fields_[i]]);
    for (const auto field : target_fields_) keep_target(fields[field]);
    rows_.lines.push_back(line);
  }

  // `at`: the field that is wrong where the row is no sample.
  base::Expected<void> read_row(const std::vector<CsvField>& fields, std::size_t& at) const {
    for (std::size_t i = 0; i < input_fields_.size(); ++i) {
      at = input_fields_[i];
      if (encoding_.inputs[i].is_word) continue;
      if (auto checked = check_number(trimmed(fields[at].text)); !checked) return checked;
    }
    for (const auto field : target_fields_) {
      at = field;
      if (auto checked = check_target(trimmed(fields[at].text)); !checked) return checked;
    }
    return {};
  }

  base::Expected<void> check_number(std::string_view cell) const {
    if (is_missing(cell)) {
      if (encoding_.missing != config::MissingValue::kFail) return {};
      return base::failure("the cell is empty; data.columns.missing: mean or zero would fill it");
    }
    const auto value = number_of(cell);
    if (!value) {
      return base::failure("expected a number, found " + base::in_quotes(cell) +
                           "; columns of words are named in data.columns.categorical");
    }
    if (!std::isfinite(static_cast<float>(*value))) {
      return base::failure(base::in_quotes(cell) + " is not a finite number");
    }
    return {};
  }

  base::Expected<void> check_target(std::string_view cell) const {
    if (is_missing(cell)) return base::failure("the target is missing");
    if (!has_number_targets(options_.task)) {
      const auto name = ClassNames::checked(cell);
      if (name) return {};
      return base::failure(name.error() + "; data.columns.target names the column with the class");
    }
    const auto value = number_of(cell);
    if (!value) return base::failure("expected a number as the target, found " + base::in_quotes(cell));
    auto problem = target_problem(*value, options_.task);
    if (!problem.empty()) return base::failure(problem + ", found " + base::in_quotes(cell));
    return {};
  }

  void keep_input(std::size_t input, const CsvField& field) {
    auto& cells = rows_.inputs[input];
    const auto cell = trimmed(field.text);
    if (!encoding_.inputs[input].is_word) {
      cells.numbers.push_back(is_missing(cell) ? kMissing : static_cast<float>(*number_of(cell)));
      return;
    }
    const auto next = static_cast<std::int32_t>(cells.words.size());
    const auto [entry, is_new] = codes_[input].try_emplace(std::string(cell), next);
    if (is_new) cells.words.emplace_back(cell);
    cells.codes.push_back(entry->second);
  }

  void keep_target(const CsvField& field) {
    const auto cell = trimmed(field.text);
    if (has_number_targets(options_.task)) {
      rows_.targets.numbers.push_back(static_cast<float>(*number_of(cell)));
    } else {
      const auto id = classes_.id_of(*ClassNames::checked(cell), table_.file, fmt::format("line {}", field.line));
      rows_.targets.labels.push_back(id);
    }
  }

  void finish() {
    if (target_fields_.empty()) return;
    if (has_number_targets(options_.task)) {
      rows_.targets.target_sizes = {static_cast<std::int64_t>(target_fields_.size())};
      rows_.targets.class_names = encoding_.targets;
    } else {
      classes_.finish(rows_.targets);
    }
  }

  const TableText& table_;
  const TableEncoding& encoding_;
  const ReadOptions& options_;
  BadSamples& bad_;
  const std::vector<std::string> header_;
  std::vector<std::size_t> input_fields_, target_fields_;
  TableRows rows_;
  std::vector<std::unordered_map<std::string, std::int32_t>> codes_;  // of each column of words
  ClassNames classes_;
};

void learn_words(TableInput& input, const TableCells& cells, const std::vector<std::int64_t>& chosen,
                 const std::filesystem::path& file) {
  constexpr std::size_t kMostWords = 10'000;
  std::vector<bool> used(cells.words.size());
  for (const auto row : chosen) used[static_cast<std::size_t>(cells.codes[static_cast<std::size_t>(row)])] = true;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) input.words.push_back(cells.words[i]);
  }
  std::sort(input.words.begin(), input.words.end());
  if (input.words.size() <= kMostWords) return;
  fail_input(file, "column " + base::in_quotes(input.name),
             fmt::format("has {} different words, more than {}; leave it out of data.columns.features",
                         input.words.size(), kMostWords));
}

void learn_mean(TableInput& input, const TableCells& cells, const std::vector<std::int64_t>& chosen,
                const std::filesystem::path& file) {
  double sum = 0;
  std::int64_t count = 0;
  for (const auto row : chosen) {
    const auto value = cells.numbers[static_cast<std::size_t>(row)];
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  if (count == 0) {
    fail_input(file, "column " + base::in_quotes(input.name),
               "all its cells in the training part are empty; leave it out of data.columns.features");
  }
  input.fill = sum / static_cast<double>(count);
}

}  // namespace

std::vector<std::string> table_header(const TableText& table) {
  refuse_utf16(table.file, table.text);
  CsvCursor cursor(table.text);
  const auto outcome = cursor.next();
  if (outcome == CsvOutcome::kEnd) fail_input(table.file, "", "is empty; the first line names the columns");
  if (outcome == CsvOutcome::kMalformed) {
    fail_input(table.file, at_field(cursor.problem().line, cursor.problem().field), cursor.problem().reason);
  }
  std::vector<std::string> header;
  std::set<std::string> seen;
  for (const auto& field : cursor.fields()) {
    header.emplace_back(trimmed(field.text));
    const auto place = at_field(field.line, static_cast<std::int64_t>(header.size()));
    if (header.back().empty()) {
      const bool may_be_index = header.size() == 1 && cursor.fields().size() > 1;
      fail_input(table.file, place,
                 std::string("the column has no name") +
                     (may_be_index ? "; if it is the index that pandas writes: to_csv(..., index=False)" : ""));
    }
    if (seen.insert(header.back()).second) continue;
    fail_input(table.file, place, "two columns are called " + base::in_quotes(header.back()));
  }
  return header;
}

TableRows read_rows(const TableText& table, const TableEncoding& encoding, TargetColumns targets,
                    const ReadOptions& options, BadSamples& bad) {
  return RowReader(table, encoding, targets, options, bad).read();
}

void learn_encoding(TableEncoding& encoding, const TableRows& rows, const std::vector<std::int64_t>& chosen,
                    const std::filesystem::path& file) {
  for (std::size_t i = 0; i < encoding.inputs.size(); ++i) {
    auto& input = encoding.inputs[i];
    if (input.is_word) {
      learn_words(input, rows.inputs[i], chosen, file);
    } else if (encoding.missing == config::MissingValue::kMean) {
      learn_mean(input, rows.inputs[i], chosen, file);
    }
  }
}

std::vector<float> encode_rows(const TableEncoding& encoding, const TableRows& rows,
                               const std::vector<std::int64_t>& chosen) {
  const auto width = static_cast<std::size_t>(encoded_width(encoding));
  std::vector<float> values(chosen.size() * width);
  std::size_t column = 0;
  for (std::size_t i = 0; i < encoding.inputs.size(); ++i) {
    const auto& input = encoding.inputs[i];
    const auto& cells = rows.inputs[i];
    std::vector<std::ptrdiff_t> place;  // of each word of the file; -1: not known
    for (const auto& word : cells.words) {
      const auto found = std::lower_bound(input.words.begin(), input.words.end(), word);
      const bool known = found != input.words.end() && *found == word;
      place.push_back(known ? found - input.words.begin() : -1);
    }
    auto* out = values.data() + column;
    for (std::size_t n = 0; n < chosen.size(); ++n, out += width) {
      const auto row = static_cast<std::size_t>(chosen[n]);
      if (!input.is_word) {
        *out = std::isnan(cells.numbers[row]) ? static_cast<float>(input.fill) : cells.numbers[row];
      } else if (const auto word = place[static_cast<std::size_t>(cells.codes[row])]; word >= 0) {
        out[word] = 1;
      }
    }
    column += input.is_word ? input.words.size() : 1;
  }
  return values;
}

}  // namespace esper::data
