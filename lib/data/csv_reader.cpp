#include "data/csv_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "data/byte_file.h"
#include "data/csv_cursor.h"

namespace esper::data {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::optional<double> number(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Long or binary junk must not fill the terminal.
std::string quoted(std::string_view text) {
  std::string shown = "\"";
  for (const char c : text.substr(0, 40)) shown += c >= ' ' && c < 127 ? c : '?';
  return shown + (text.size() > 40 ? "...\"" : "\"");
}

bool is_header(const std::vector<CsvField>& fields) {
  return std::none_of(fields.begin(), fields.end() - 1, [](const CsvField& f) { return number(f.text); });
}

class CsvReader {
 public:
  CsvReader(const std::filesystem::path& file, BadSamples& bad) : file_(file), bad_(bad) {}

  RawSamples read(std::string_view text) {
    CsvCursor cursor(text);
    bool first = true;
    for (auto outcome = cursor.next(); outcome != CsvOutcome::kEnd; outcome = cursor.next()) {
      if (outcome == CsvOutcome::kMalformed) {
        const auto& problem = cursor.problem();
        bad_.report(file_, at_line(problem.line, problem.column), problem.reason);
        continue;
      }
      if (first) begin(cursor.fields());
      if (!first || !is_header(cursor.fields())) add(cursor.fields());
      first = false;
    }
    return finish();
  }

 private:
  void begin(const std::vector<CsvField>& fields) {
    if (fields.size() < 2)
      fail_input(file_, at_line(fields[0].line, 1), "expected numbers and a class, found one column");
    width_ = fields.size();
  }

  void add(const std::vector<CsvField>& fields) {
    const auto complain = [&](const CsvField& field, const std::string& text) {
      values_.resize(classes_.size() * (width_ - 1));
      bad_.report(file_, at_line(field.line, field.column), text);
    };
    if (fields.size() != width_) {
      return complain(fields.back(), "the line has " + std::to_string(fields.size()) + " columns, the first has " +
                                         std::to_string(width_));
    }
    for (std::size_t i = 0; i + 1 < width_; ++i) {
      const auto value = number(fields[i].text);
      if (!value) return complain(fields[i], "expected a number, found " + quoted(fields[i].text));
      if (!std::isfinite(static_cast<float>(*value))) {
        return complain(fields[i], quoted(fields[i].text) + " is not a finite number");
      }
      values_.push_back(static_cast<float>(*value));
    }
    const auto name = trimmed(fields.back().text);
    if (name.empty()) return complain(fields.back(), "the class is missing");
    const auto value = number(name);
    if (value && (std::trunc(*value) != *value || std::abs(*value) > 1e15)) {
      return complain(fields.back(), "the class must be a whole number or a name, found " + quoted(name));
    }
    classes_.push_back(label_id(value ? std::to_string(static_cast<std::int64_t>(*value)) : std::string(name)));
  }

  std::int64_t label_id(std::string name) {
    return ids_.try_emplace(std::move(name), static_cast<std::int64_t>(ids_.size())).first->second;
  }

  RawSamples finish() {
    RawSamples samples;
    for (const auto& [name, id] : ids_) samples.class_names.push_back(name);
    auto& names = samples.class_names;
    const bool numeric = std::all_of(names.begin(), names.end(), [](const auto& n) { return number(n).has_value(); });
    if (numeric) std::sort(names.begin(), names.end(), [](auto& a, auto& b) { return *number(a) < *number(b); });
    std::vector<std::int64_t> place(names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
      place[static_cast<std::size_t>(ids_[names[i]])] = static_cast<std::int64_t>(i);
    for (const auto id : classes_) samples.labels.push_back(place[static_cast<std::size_t>(id)]);
    samples.sizes = {static_cast<std::int64_t>(width_) - 1};
    samples.values = std::move(values_);
    return samples;
  }

  const std::filesystem::path& file_;
  BadSamples& bad_;
  std::size_t width_ = 1;
  std::vector<float> values_;
  std::vector<std::int64_t> classes_;        // numbers in order of appearance
  std::map<std::string, std::int64_t> ids_;  // sorted by bytes
};

}  // namespace

RawSamples read_csv(const std::filesystem::path& file, const ReadOptions& options, BadSamples& bad) {
  const auto bytes = read_bytes(file, options);
  return CsvReader(file, bad).read({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace esper::data
