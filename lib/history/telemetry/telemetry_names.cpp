#include "history/telemetry/telemetry_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "base/error.h"
#include "base/names.h"
#include "base/text/json_fields.h"
#include "history/telemetry/jsonl_reader.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/telemetry_files.h"

namespace esper::history {

using base::member;
using base::text_at;
using nissa::has_telemetry;

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Kind = TelemetryName::Kind;

constexpr std::size_t kMostNames = 100'000;
constexpr std::size_t kMostLabels = 64;
constexpr std::size_t kLongestWord = 128;
constexpr std::size_t kLongestStatus = 256;
constexpr std::uintmax_t kLargestFile = 16 << 20;
constexpr int kDeepestNames = 8;

[[noreturn]] void fail(const std::string& source, const std::string& what) {
  throw base::Error(base::ExitCode::kData, source + ": " + what);
}

// Printable and short: what is read is printed again.
bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kLongestWord &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

const std::string* word_at(const json& object, const char* key) {
  const auto* text = member(object, key).get_ptr<const std::string*>();
  return text != nullptr && is_word(*text) ? text : nullptr;
}

std::set<std::string> split_labels(std::string_view labels) {
  std::istringstream words{std::string(labels)};
  return {std::istream_iterator<std::string>(words), {}};
}

// Takes in what the packets of a run carry. Whatever is not as it should be is counted and left out.
class Collector {
 public:
  explicit Collector(std::string source) : source_(std::move(source)) {}

  void take(const json& packet) {
    for (const auto& metric : elements(packet, "metrics")) take(metric, "name", Kind::kMetric);
    for (const auto& event : elements(packet, "events")) take(event, "description", Kind::kEvent);
  }
  TelemetryNames finish(const JsonlReport& report) {
    if (report.damaged_total > 0) {
      read_.gaps.push_back(fmt::format("{} has {} damaged lines", source_, report.damaged_total));
    }
    if (report.missing_files > 0) {
      read_.gaps.push_back(fmt::format("{} lacks {} earlier files", source_, report.missing_files));
    }
    if (odd_ > 0) {
      read_.gaps.push_back(fmt::format("{} has {} malformed metrics or events", source_, odd_));
    }
    if (report.packets == 0) fail(source_, "holds no packet of telemetry");
    return std::move(read_);
  }

 private:
  const json& elements(const json& packet, const char* key) {
    static const json kNone = json::array();
    const json& list = packet.at(key);
    if (list.is_array()) return list;
    ++odd_;
    return kNone;
  }

  void take(const json& entry, const char* key, Kind kind) {
    const std::string* name = word_at(entry, key);
    if (name == nullptr) {
      ++odd_;
      return;
    }
    NameFacts& facts = read_.names[{*name, kind}];
    if (read_.names.size() > kMostNames) fail(source_, fmt::format("has more than {} names", kMostNames));
    const std::string* unit = word_at(entry, "unit");
    if (kind == Kind::kMetric && unit != nullptr && facts.unit.empty()) facts.unit = *unit;
    if (kind == Kind::kMetric && unit != nullptr && facts.unit != *unit) ++odd_;
    const auto attributes = entry.find("attributes");
    if (attributes == entry.end()) return;
    if (!attributes->is_object()) {
      ++odd_;
      return;
    }
    for (const auto& [label, value] : attributes->items()) take_label(facts, label);
  }

  void take_label(NameFacts& facts, const std::string& label) {
    if (is_word(label) && (facts.labels.size() < kMostLabels || facts.labels.contains(label))) {
      facts.labels.insert(label);
    } else {
      ++odd_;
    }
  }

  std::string source_;
  TelemetryNames read_;
  std::size_t odd_ = 0;
};

TelemetryNames read_run(const fs::path& file) {
  Collector collector(file.string());
  const auto report = read_jsonl(file, [&](const json& packet) { collector.take(packet); });
  return collector.finish(report);
}

std::string read_text(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) fail(file.string(), "cannot be read: " + error.message());
  if (size > kLargestFile) fail(file.string(), "is larger than 16 MiB: not a list of names");
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) fail(file.string(), "cannot be read");
  return text;
}

json parse(const std::string& source, const std::string& text) {
  const auto shallow = [](int depth, json::parse_event_t, json&) {
    if (depth > kDeepestNames) throw std::length_error("nested too deeply");
    return true;
  };
  try {
    return json::parse(text, shallow);
  } catch (const std::exception& error) {
    fail(source, "is not JSON: " + base::plain_reason(error));
  }
}

// "reported", "planned: WHERE", "does not apply: WHY".
NameStatus status_of(const std::string& where, const json& row) {
  if (!row.contains("status")) return NameStatus::kNotReported;
  const std::string text = text_at(row, "status");
  const auto reports_more_than = [&](std::string_view start) {
    return text.starts_with(start) && text.find_first_not_of(' ', start.size()) != std::string::npos;
  };
  if (text.size() <= kLongestStatus) {
    if (text == "reported") return NameStatus::kReported;
    if (reports_more_than("planned: ")) return NameStatus::kPlanned;
    if (reports_more_than("does not apply: ")) return NameStatus::kDoesNotApply;
  }
  fail(where, "its \"status\" must be one of: reported, planned: WHERE, does not apply: WHY");
}

// A row of a names file: {"name", "kind", "unit" if known, "labels", "status" if known}.
void take_row(const std::string& where, const json& row, TelemetryNames& out) {
  const std::string* name = word_at(row, "name");
  const std::string* kind = name != nullptr ? word_at(row, "kind") : nullptr;
  if (kind == nullptr) fail(where, "needs a \"name\" and a \"kind\"");
  TelemetryName key{*name, *kind == "event" ? Kind::kEvent : Kind::kMetric};
  NameFacts facts;
  if (row.contains("unit") && key.kind == Kind::kMetric) {
    const std::string* unit = word_at(row, "unit");
    if (unit == nullptr) fail(where, "its \"unit\" is not a word");
    facts.unit = *unit;
  }
  const json labels = row.value("labels", json::array());
  if (!labels.is_array() || labels.size() > kMostLabels) fail(where, "its \"labels\" are not a list of words");
  for (const auto& label : labels) {
    if (!label.is_string() || !is_word(label.get_ref<const std::string&>())) fail(where, "a label is not a word");
    facts.labels.insert(label.get<std::string>());
  }
  facts.status = status_of(where, row);
  if (!out.names.emplace(std::move(key), std::move(facts)).second) fail(where, *name + " is listed twice");
}

TelemetryNames read_list(const fs::path& file) {
  const json document = parse(file.string(), read_text(file));
  const json* rows = &document;
  if (document.is_object() && document.contains("names")) rows = &document.at("names");
  if (!rows->is_array() || rows->empty()) fail(file.string(), "is not a list of names");
  if (rows->size() > kMostNames) fail(file.string(), fmt::format("has more than {} names", kMostNames));
  TelemetryNames out;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    take_row(fmt::format("{}: entry {}", file.string(), i + 1), (*rows)[i], out);
  }
  return out;
}

bool is_reported(const std::pair<const TelemetryName, NameFacts>& entry) {
  return entry.second.status != NameStatus::kNotReported;
}

std::optional<StatusCheck> check_statuses(const TelemetryNames& first, const TelemetryNames& second) {
  if (std::ranges::none_of(first.names, is_reported)) return std::nullopt;
  StatusCheck check;
  for (const auto& [name, facts] : first.names) {
    switch (facts.status) {
      case NameStatus::kNotReported:
        check.without_status.push_back(name);
        continue;
      case NameStatus::kReported:
        ++check.reported;
        continue;
      case NameStatus::kPlanned:
        ++check.planned;
        break;
      case NameStatus::kDoesNotApply:
        ++check.does_not_apply;
        break;
    }
    if (second.names.contains(name)) check.contradicted.push_back(name);
  }
  return check;
}

// What is neither planned nor out of place must be there.
bool is_expected(NameStatus status) { return status == NameStatus::kReported || status == NameStatus::kNotReported; }

std::vector<std::string> without(const std::set<std::string>& from, const std::set<std::string>& what) {
  std::vector<std::string> left;
  std::ranges::set_difference(from, what, std::back_inserter(left));
  return left;
}

}  // namespace

TelemetryNames names_of_table() {
  TelemetryNames out;
  for (const auto& entry : leyline::kTelemetryTable) {
    const bool event = entry.kind == leyline::TelemetryKind::kEvent;
    NameFacts facts{event ? "" : std::string(entry.unit), split_labels(entry.labels)};
    out.names.emplace(TelemetryName{std::string(entry.name), event ? Kind::kEvent : Kind::kMetric}, std::move(facts));
  }
  return out;
}

TelemetryNames read_names(const std::string& source) {
  if (source == "table") return names_of_table();
  std::error_code ignored;
  fs::path file = source;
  const bool folder = fs::is_directory(file, ignored);
  if (folder) file /= "telemetry.jsonl";
  constexpr const char* kExpected = "; give a list of names, a run folder, its telemetry.jsonl, or table";
  if (!fs::exists(source, ignored)) {
    throw base::Error(base::ExitCode::kConfig, source + ": no such file" + kExpected);
  }
  if (!fs::is_regular_file(file, ignored) && !(folder && has_telemetry(file))) {
    fail(source, folder ? "it has no telemetry.jsonl; telemetry.jsonl: true in a run file enables it"
                        : std::string("is not a regular file") + kExpected);
  }
  return file.extension() == ".jsonl" ? read_run(file) : read_list(file);
}

NamesDiff diff_names(const TelemetryNames& first, const TelemetryNames& second) {
  NamesDiff diff;
  diff.statuses = check_statuses(first, second);
  for (const auto& [name, facts] : first.names) {
    if (!is_expected(facts.status)) continue;
    const auto found = second.names.find(name);
    if (found == second.names.end()) {
      diff.only_first.push_back(name);
      diff.second_has_all = false;
      continue;
    }
    const NameFacts& other = found->second;
    NameDifference difference{name, {}, {}, without(facts.labels, other.labels), without(other.labels, facts.labels)};
    const bool units = !facts.unit.empty() && !other.unit.empty() && facts.unit != other.unit;
    if (units) difference.first_unit = facts.unit, difference.second_unit = other.unit;
    if (units || !difference.only_first.empty()) diff.second_has_all = false;
    const bool differs = units || !difference.only_first.empty() || !difference.only_second.empty();
    if (differs) diff.different.push_back(std::move(difference));
  }
  for (const auto& [name, facts] : second.names) {
    if (!first.names.contains(name)) diff.only_second.push_back(name);
  }
  return diff;
}

}  // namespace esper::history
