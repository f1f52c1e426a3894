#include "data/readers/csv_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/expected.h"
#include "data/files/byte_file.h"
#include "data/files/class_names.h"
#include "data/files/csv_cursor.h"
#include "data/files/csv_field.h"
#include "data/files/memory_need.h"
#include "data/files/target_number.h"
#include "data/readers/csv_classes.h"

namespace esper::data {
namespace {

// Long or binary junk must not fill the terminal.
std::string quoted(std::string_view text) {
  std::string shown = "\"";
  for (const char c : text.substr(0, 40)) shown += c >= ' ' && c < 127 ? c : '?';
  return shown + (text.size() > 40 ? "...\"" : "\"");
}

bool is_header(const std::vector<CsvField>& fields) {
  return fields.size() > 1 &&
         std::none_of(fields.begin(), fields.end() - 1, [](const CsvField& f) { return number_of(f.text); });
}

// All but the last; none where two are alike.
std::vector<std::string> feature_names(const std::vector<CsvField>& header) {
  std::vector<std::string> names;
  for (const auto& field : header) names.emplace_back(trimmed(field.text));
  names.pop_back();
  return std::set(names.begin(), names.end()).size() == names.size() ? names : std::vector<std::string>();
}

class CsvReader {
 public:
  CsvReader(const std::filesystem::path& file, const ReadOptions& options, BadSamples& bad)
      : file_(file), options_(options), bad_(bad), classes_(file, options) {}

  RawSamples read(std::string_view text) {
    take_room(text);
    CsvCursor cursor(text);
    bool first = true;
    for (auto outcome = cursor.next(); outcome != CsvOutcome::kEnd; outcome = cursor.next()) {
      if (outcome == CsvOutcome::kMalformed) {
        const auto& problem = cursor.problem();
        bad_.report(file_, at_field(problem.line, problem.field), problem.reason);
      } else if (first && is_header(cursor.fields())) {
        header_ = Header{cursor.fields()[0].line, cursor.fields().size(), feature_names(cursor.fields()),
                         std::string(trimmed(cursor.fields().back().text))};
      } else {
        add(cursor.fields(), first);
        first_line_is_sample_ |= first && !classes_.empty();
      }
      first = false;
    }
    return finish();
  }

 private:
  struct Header {
    std::int64_t line;
    std::size_t width;
    std::vector<std::string> names;  // of the features
    std::string target;
  };

  // Numbers, and a class for each line: in order of appearance, and as label.
  void take_room(std::string_view text) {
    const auto size = csv_size(text);
    const auto classes = size.lines * 2 * std::int64_t{sizeof(std::int64_t)};
    require_memory(file_, "its samples", size.commas * std::int64_t{sizeof(float)} + classes, options_);
    values_.reserve(static_cast<std::size_t>(size.commas));
    classes_.reserve(size.lines);
  }

  // A line that cannot be read leaves nothing behind.
  void add(const std::vector<CsvField>& fields, bool first_line) {
    const auto before = values_.size();
    std::size_t at = 0;
    const auto sample = read_sample(fields, at);
    if (sample) return;
    values_.resize(before);
    constexpr char kHint[] =
        "; if the line is a header, remove it: a header is recognised if no field except the last is a number";
    bad_.report(file_, at_field(fields[at].line, static_cast<std::int64_t>(at) + 1),
                sample.error() + (first_line ? kHint : ""));
  }

  // `at`: the field that is wrong where the line is no sample.
  base::Expected<void> read_sample(const std::vector<CsvField>& fields, std::size_t& at) {
    const auto last = fields.size() - 1;
    at = last;
    if (last == 0) {
      return base::failure("one field; a line is numbers and then the class, separated by commas" +
                           hint_of_separator(fields[0].text));
    }
    if (width_ != 0 && fields.size() != width_) {
      return base::failure(fmt::format("the line has {} fields, the first sample has {}", fields.size(), width_));
    }
    for (at = 0; at < last; ++at) {
      const auto value = number_of(fields[at].text);
      if (!value) {
        return base::failure("expected a number, found " + quoted(fields[at].text) +
                             (at == 0 ? "; the class is the last field" : ""));
      }
      if (!std::isfinite(static_cast<float>(*value)))
        return base::failure(quoted(fields[at].text) + " is not a finite number");
      values_.push_back(static_cast<float>(*value));
    }
    const auto name = trimmed(fields[last].text);
    const auto value = number_of(name);
    if (has_number_targets(options_.task)) return read_target(fields, name, value);
    if (name.empty()) return base::failure("the class is missing");
    if (value && (std::trunc(*value) != *value || std::abs(*value) > 1e15)) {
      return base::failure(not_a_class(name) + "; the class is the last field");
    }
    begin_or_go_on(fields);
    const auto unused = static_cast<std::int64_t>((values_.capacity() - values_.size()) * sizeof(float));
    using enum CsvClasses::Kind;
    auto sample_class = value ? CsvClasses::Class{std::to_string(static_cast<std::int64_t>(*value)), kNumber}
                              : CsvClasses::Class{std::string(name), kName};
    classes_.add(std::move(sample_class), fields[last].line, unused);
    return {};
  }

  base::Expected<void> read_target(const std::vector<CsvField>& fields, std::string_view text,
                                   std::optional<double> value) {
    if (!value) return base::failure("expected a number as the target, found " + quoted(text));
    if (auto problem = target_problem(*value, options_.task); !problem.empty()) {
      return base::failure(problem + ", found " + quoted(text));
    }
    begin_or_go_on(fields);
    targets_.push_back(static_cast<float>(*value));
    return {};
  }

  // The first sample fixes how many fields a line has.
  void begin_or_go_on(const std::vector<CsvField>& fields) {
    if (width_ != 0) return;
    width_ = fields.size();
    first_line_ = fields[0].line;
    if (header_ && header_->width != width_) {
      bad_.report(file_, fmt::format("line {}", header_->line),
                  fmt::format("the header has {} fields, the first sample has {}", header_->width, width_));
    }
  }

  // Columns that are called 0, 1, 2, ... look like numbers. What gives the header away is the class: a name where all
  // others are numbers, or a number where all others are names.
  void drop_header_of_numbers() {
    const auto odd = first_line_is_sample_ ? classes_.drop_odd_first() : std::nullopt;
    if (!odd) return;
    const bool is_name = odd->kind == CsvClasses::Kind::kName;
    bad_.report(file_, at_field(first_line_, static_cast<std::int64_t>(width_)),
                "class " + quoted(std::string_view(odd->text)) +
                    (is_name ? " is a name, but those of all other lines are numbers"
                             : " is a number, but those of all other lines are names") +
                    "; if the line is a header, remove it, otherwise move it below another line");
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(width_) - 1);
  }

  RawSamples finish() {
    drop_header_of_numbers();
    RawSamples samples;
    classes_.finish(samples);
    samples.sizes = {std::max<std::int64_t>(static_cast<std::int64_t>(width_) - 1, 0)};
    samples.values = std::move(values_);
    if (header_ && header_->width == width_) {
      samples.feature_names = std::move(header_->names);
      samples.target_name = std::move(header_->target);
    }
    if (has_number_targets(options_.task)) {
      samples.numbers = std::move(targets_);
      samples.target_sizes = {1};
    }
    return samples;
  }

  const std::filesystem::path& file_;
  const ReadOptions& options_;
  BadSamples& bad_;
  std::optional<Header> header_;
  std::size_t width_ = 0;  // 0 until there is a sample
  std::int64_t first_line_ = 0;
  bool first_line_is_sample_ = false;
  std::vector<float> values_;
  CsvClasses classes_;
  std::vector<float> targets_;  // where they are numbers
};

}  // namespace

RawSamples read_csv(const std::filesystem::path& file, const ReadOptions& options, BadSamples& bad) {
  const auto bytes = read_bytes(file, options);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  refuse_utf16(file, text);
  return CsvReader(file, options, bad).read(text);
}

}  // namespace esper::data
