#include "sweep/parameter_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "config/fields/field_rows.h"
#include "config/fields/field_text.h"
#include "config/fields/removed_fields.h"
#include "config/loading/read_value.h"

namespace esper::sweep {

using base::Place;
using base::Problem;
using config::FieldRow;
using config::YamlEntry;
using config::YamlNode;

namespace {

constexpr const char* kParameters = "parameters";
const std::vector<std::string> kKeysOfParameter{"values", "min", "max", "scale"};
constexpr double kMostWhole = 9007199254740992;  // 2^53: beyond it some whole numbers have no double

std::string path_of(const std::string& key) { return std::string(kParameters) + "." + base::shortened(key); }

// Why the field is not one to try values of; empty where it is.
std::string reason_against(const std::string& key, Method method) {
  if (key == "seed")
    return "seeds repeat a configuration and are not a parameter; write seeds: [1, 2, 3] beside parameters";
  if (key == "name" || key == "runs_dir") return "changes nothing in a run; the sweep names its runs itself";
  if (key == "epochs" && method == Method::kHalving) {
    return "halving sets the epochs; write halving: {min_epochs: 1, max_epochs: 27}, or method: random";
  }
  return "";
}

// The number in a field; nothing where the field holds none.
struct NumberOf {
  template <class T>
  std::optional<double> operator()(const T& value) const {
    using Pointee = std::remove_pointer_t<T>;
    if constexpr (std::is_arithmetic_v<Pointee> && !std::is_same_v<Pointee, bool>) {
      return static_cast<double>(*value);
    } else {
      return std::nullopt;
    }
  }
};

FieldRow renamed(FieldRow row, std::string path) {
  row.path = std::move(path);
  return row;
}

const YamlEntry* entry_of(const YamlNode& node, const std::string& key) {
  const auto found = std::ranges::find(node.entries, key, &YamlEntry::key);
  return found == node.entries.end() ? nullptr : &*found;
}

}  // namespace

ParameterReader::ParameterReader(Method method, std::vector<Problem>& problems) : method_(method), problems_(problems) {
  for (FieldRow& row : field_table(scratch_)) rows_.emplace(row.path, std::move(row));
}

void ParameterReader::report(const Place& place, const std::string& path, std::string text) {
  problems_.push_back({place, path, std::move(text)});
}

std::vector<Parameter> ParameterReader::read(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kMap || node.entries.empty()) {
    report(node.place, kParameters,
           "expected fields of the run file with values, like training.optimizer.lr: [0.1, 0.01]");
    return {};
  }
  if (node.entries.size() > SweepLimits::kParameters) {
    report(node.place, kParameters,
           fmt::format("at most {} parameters, found {}", SweepLimits::kParameters, node.entries.size()));
    return {};
  }
  std::vector<Parameter> parameters;
  for (const YamlEntry& entry : node.entries) {
    Parameter parameter;
    parameter.key = entry.key;
    parameter.place = entry.place;
    read_one(entry, parameter);
    if (parameter.range || !parameter.values.empty()) parameters.push_back(std::move(parameter));
  }
  return parameters;
}

const FieldRow* ParameterReader::row_of(const YamlEntry& entry) {
  const auto refuse = [&](std::string text) {
    report(entry.place, path_of(entry.key), std::move(text));
    return nullptr;
  };
  if (const auto* const removed = config::removed_field(entry.key)) return refuse(std::string(removed->refused));
  const auto found = rows_.find(entry.key);
  if (found == rows_.end()) {
    std::vector<std::string> known, same_end;
    for (const auto& [path, row] : rows_) {
      if (row.is_section()) continue;
      known.push_back(path);
      if (row.key() == entry.key) same_end.push_back(path);
    }
    const auto close = same_end.size() == 1 ? same_end.front() : base::nearest(entry.key, known);
    return refuse("not a field of the run file" +
                  (close ? "; did you mean " + *close + "?" : "; docs/config.md lists them"));
  }
  if (found->second.is_section()) return refuse("is a section of the run file; name one of its fields");
  if (auto reason = reason_against(entry.key, method_); !reason.empty()) return refuse(std::move(reason));
  return &found->second;
}

void ParameterReader::read_one(const YamlEntry& entry, Parameter& out) {
  const FieldRow* row = row_of(entry);
  if (row == nullptr) return;
  if (entry.value.kind == YamlNode::Kind::kList) return read_values(*row, entry.value, out);
  if (entry.value.kind == YamlNode::Kind::kMap) return read_map(*row, entry.value, out);
  report(entry.value.place, path_of(entry.key),
         "expected a list of values, like [1, 2], or a range, like {min: 1, max: 2, scale: log}");
}

void ParameterReader::read_map(const FieldRow& row, const YamlNode& node, Parameter& out) {
  const std::size_t before = problems_.size();
  for (const YamlEntry& entry : node.entries) {
    if (std::ranges::find(kKeysOfParameter, entry.key) != kKeysOfParameter.end()) continue;
    const auto close = base::nearest(entry.key, kKeysOfParameter);
    report(entry.place, path_of(row.path) + "." + base::shortened(entry.key),
           "unknown key" + (close ? "; did you mean " + *close + "?" : std::string()) +
               " Known here: values, or min, max and scale");
  }
  if (problems_.size() > before) return;
  const YamlEntry* values = entry_of(node, "values");
  if (values == nullptr) return read_range(row, node, out);
  for (const char* key : {"min", "max", "scale"}) {
    if (const YamlEntry* other = entry_of(node, key)) {
      report(other->place, path_of(row.path) + "." + key, "give values or a range, not both");
    }
  }
  read_values(row, values->value, out);
}

void ParameterReader::read_values(const FieldRow& row, const YamlNode& node, Parameter& out) {
  const std::string path = path_of(row.path);
  if (node.kind != YamlNode::Kind::kList || node.items.empty()) {
    return report(node.place, path, "expected at least one value, like [1, 2]");
  }
  if (node.items.size() > SweepLimits::kValues) {
    return report(node.place, path,
                  fmt::format("at most {} values, found {}", SweepLimits::kValues, node.items.size()));
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const YamlNode& item = node.items[i];
    const FieldRow item_row = renamed(row, fmt::format("{}[{}]", path, i));
    const std::size_t before = problems_.size();
    read_value(item_row, item, problems_);
    if (problems_.size() > before) continue;
    std::string text = config::field_yaml(row.value);
    if (std::ranges::find(out.values, text) != out.values.end()) {
      report(item.place, item_row.path, text + " is given already; remove it");
      continue;
    }
    out.values.push_back(std::move(text));
    out.value_places.push_back(item.place);
  }
}

void ParameterReader::read_end(const FieldRow& row, const YamlEntry& entry, double& out) {
  read_value(row, entry.value, problems_);
  out = std::visit(NumberOf{}, row.value).value();
  const bool is_whole = !std::holds_alternative<double*>(row.value);
  if (is_whole && std::abs(out) >= kMostWhole) report(entry.value.place, row.path, "must be below 2^53 in size");
}

void ParameterReader::read_range(const FieldRow& row, const YamlNode& node, Parameter& out) {
  const std::string path = path_of(row.path);
  if (!std::visit(NumberOf{}, row.value)) {
    return report(node.place, path,
                  "takes " + config::type_text(row.value) + ", so it has no range; write values: [...]");
  }
  if (method_ == Method::kGrid) {
    return report(node.place, path, "a grid needs values: [...]; ranges are for method: random and halving");
  }
  const std::size_t before = problems_.size();
  Range range;
  const bool is_real = std::holds_alternative<double*>(row.value);
  range.numbers = is_real ? Range::Numbers::kReal : Range::Numbers::kWhole;
  for (const auto& [key, end] : {std::pair{"min", &range.min}, std::pair{"max", &range.max}}) {
    const FieldRow end_row = renamed(row, path + "." + key);
    if (const YamlEntry* entry = entry_of(node, key)) {
      read_end(end_row, *entry, *end);
    } else {
      report(node.place, end_row.path, "is missing; a range has min and max");
    }
  }
  if (const YamlEntry* scale = entry_of(node, "scale")) {
    read_value(FieldRow{path + ".scale", "", {}, config::enum_field(range.scale)}, scale->value, problems_);
  }
  if (problems_.size() == before) check_range(range, node.place, path);
  if (problems_.size() == before) out.range = range;
}

void ParameterReader::check_range(const Range& range, const Place& place, const std::string& path) {
  const auto number = config::number_text;
  const bool is_log = range.scale == Range::Scale::kLog;
  if (range.min >= range.max) {
    report(place, path,
           fmt::format("min must be below max, but min is {} and max {}", number(range.min), number(range.max)));
  } else if (is_log && range.min <= 0) {
    report(place, path, fmt::format("scale: log needs min > 0, but it is {}", number(range.min)));
  } else if (!std::isfinite(is_log ? range.max / range.min : range.max - range.min)) {
    report(place, path, "min and max are too far apart");
  }
}

}  // namespace esper::sweep
