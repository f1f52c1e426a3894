#include "history/growth/growth_record.h"

#include <fmt/core.h>

#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/names.h"
#include "base/parse_number.h"
#include "base/text/json_fields.h"

namespace esper::history {

using base::count_at;
using base::from_name;
using base::name_of;
using base::number_at;
using base::optional_at;
using base::value_at;
using leyline::read_topology;
using leyline::Stage;
using leyline::topology_json;

using nlohmann::json;

namespace {

constexpr int kDeepestRecord = 8;
constexpr std::size_t kLongestRecord = 1 << 20;
constexpr std::array kEvents = {"stage", "gate", "graft", "cull", "fold", "command_rejected", "isolation_violation"};
constexpr std::array kSnapshots = {"started", "resumed", "forked", "segment"};

template <std::size_t kSize>
bool is_one_of(const std::array<const char*, kSize>& names, const std::string& what) {
  for (const std::string_view name : names) {
    if (name == what) return true;
  }
  return false;
}

Stage stage_at(const json& object, const char* name) {
  const auto stage = from_name<Stage>(object.at(name).get<std::string>());
  if (!stage) throw std::invalid_argument("no stage");
  return *stage;
}

std::map<std::string, double> numbers_at(const json& object, const char* name) {
  std::map<std::string, double> numbers;
  const auto found = object.find(name);
  if (found == object.end()) return numbers;
  for (const auto& [key, value] : found->items()) {
    if (value.is_number()) numbers[key] = value.get<double>();  // null: it was not finite
  }
  return numbers;
}

RunPlace place_of(const json& object) {
  RunPlace place;
  place.epoch = count_at<std::uint32_t>(object, "epoch");
  place.step = count_at<std::int64_t>(object, "step");
  return place;
}

GrowthEvent event_of(const json& object) {
  GrowthEvent event;
  event.seed_id = value_at<std::string>(object, "seed_id");
  event.slot = value_at<std::string>(object, "slot");
  event.blueprint = value_at<std::string>(object, "blueprint");
  event.from = stage_at(object, "from");
  event.to = stage_at(object, "to");
  event.reason = value_at<std::string>(object, "reason");
  event.command_id = value_at<std::string>(object, "command_id");
  event.decision = value_at<std::string>(object, "decision");
  event.code = value_at<std::string>(object, "code");
  event.passed = optional_at<bool>(object, "passed");
  event.values = numbers_at(object, "values");
  event.required = numbers_at(object, "required");
  event.took_ms = base::known_time_at(object, "took_ms", std::chrono::milliseconds(1));
  event.memory_bytes = number_at<std::int64_t>(object, "memory_bytes");
  event.carried = number_at<std::int64_t>(object, "moments_carried");
  event.created = value_at<std::vector<std::string>>(object, "moments_created");
  event.dropped = value_at<std::vector<std::string>>(object, "moments_dropped");
  event.transformed = value_at<std::vector<std::string>>(object, "moments_transformed");
  event.reset = value_at<std::vector<std::string>>(object, "moments_reset");
  event.copied = value_at<std::vector<std::string>>(object, "moments_copied");
  return event;
}

// Throws where something is missing or of another type.
GrowthRecordKind read(const json& object, GrowthRecord& record) {
  record.what = object.at("what").get<std::string>();
  const bool event = is_one_of(kEvents, record.what), snapshot = is_one_of(kSnapshots, record.what);
  if (!event && !snapshot && record.what != "checkpoint") return GrowthRecordKind::kOther;
  record.place = place_of(object);
  if (event) {
    record.event = event_of(object);
    record.hash = value_at<std::string>(object, "topology");
  } else if (snapshot) {
    if (object.contains("topology")) record.snapshot = read_topology(object["topology"]);
    record.parent = value_at<std::string>(object, "parent");
    record.checkpoint = value_at<std::string>(object, "checkpoint");
    record.without = value_at<std::vector<std::string>>(object, "without");
    if (record.what == "segment") record.records_before = count_at<std::size_t>(object, "records");
  } else {
    record.checkpoint = value_at<std::string>(object, "name");
    record.hash = value_at<std::string>(object, "topology");
  }
  return GrowthRecordKind::kGrowth;
}

// Reads {"key":value,...} of short values from the front of a text, as the journal has it of checkpoints: no blanks, no
// escapes, no nesting.
class PlainObject {
 public:
  explicit PlainObject(std::string_view text) : rest_(text) {}

  struct Member {
    std::string_view key, value;
    bool is_text = false;
  };
  // False at the end, and where the text is not of that form; then ended() says which.
  bool next(Member& member) {
    if (!skip(first_ ? '{' : ',')) return false;
    first_ = false;
    if (!quoted(member.key) || !skip(':')) return false;
    member.is_text = rest_.starts_with('"');
    return member.is_text ? quoted(member.value) : bare(member.value);
  }
  bool ended() const { return rest_ == "}"; }

 private:
  bool skip(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool quoted(std::string_view& out) {
    const auto end = rest_.find('"', 1);
    if (!rest_.starts_with('"') || end == std::string_view::npos) return false;
    out = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    for (const char c : out) {
      if (c == '\\' || static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) return false;
    }
    return true;
  }
  bool bare(std::string_view& out) {
    out = rest_.substr(0, rest_.find_first_of(",}"));
    rest_.remove_prefix(out.size());
    if (out == "true" || out == "false") return true;
    return !out.empty() && out.find_first_not_of("0123456789") == std::string_view::npos;
  }

  std::string_view rest_;
  bool first_ = true;
};

template <class T>
bool read_whole(std::string_view text, T& number) {
  const auto read = base::parse_number<T>(text);
  number = read.value_or(number);
  return read.has_value();
}

// Almost all of a long journal are these: parsed without a document each. False for anything but the form in which
// they are written; `record` is unspecified then.
bool read_plain_checkpoint(std::string_view text, GrowthRecord& record) {
  if (!text.ends_with(R"("what":"checkpoint"})")) return false;
  PlainObject object(text);
  bool has_epoch = false, has_step = false;
  for (PlainObject::Member member; object.next(member);) {
    const auto& [key, value, is_text] = member;
    if (key == "epoch") has_epoch = !is_text && read_whole(value, record.place.epoch);
    if (key == "step") has_step = !is_text && read_whole(value, record.place.step);
    if (key != "name" && key != "topology" && key != "what") continue;
    if (!is_text) return false;
    (key == "name" ? record.checkpoint : key == "what" ? record.what : record.hash) = value;
  }
  return object.ended() && has_epoch && has_step && record.what == "checkpoint";
}

void add_event(json& object, const GrowthEvent& event) {
  object["seed_id"] = event.seed_id;
  object["slot"] = event.slot;
  object["blueprint"] = event.blueprint;
  object["from"] = name_of(event.from);
  object["to"] = name_of(event.to);
  object["command_id"] = event.command_id;
  object["reason"] = event.reason;
  if (!event.decision.empty()) object["decision"] = event.decision;
  if (!event.code.empty()) object["code"] = event.code;
  if (event.passed) object["passed"] = *event.passed;
  if (!event.values.empty()) object["values"] = event.values;
  if (!event.required.empty()) object["required"] = event.required;
  if (event.took_ms) object["took_ms"] = *event.took_ms;
  if (event.memory_bytes) object["memory_bytes"] = *event.memory_bytes;
  if (event.carried) object["moments_carried"] = *event.carried;
  if (!event.created.empty()) object["moments_created"] = event.created;
  if (!event.dropped.empty()) object["moments_dropped"] = event.dropped;
  if (!event.transformed.empty()) object["moments_transformed"] = event.transformed;
  if (!event.reset.empty()) object["moments_reset"] = event.reset;
  if (!event.copied.empty()) object["moments_copied"] = event.copied;
}

}  // namespace

std::string place_text(RunPlace place) { return fmt::format("epoch {}, step {}", place.epoch, place.step); }

json growth_record_json(const GrowthRecord& record) {
  json object = {{"what", record.what}, {"epoch", record.place.epoch}, {"step", record.place.step}};
  if (record.event) add_event(object, *record.event);
  if (!record.hash.empty()) object["topology"] = record.hash;
  if (record.snapshot) object["topology"] = topology_json(*record.snapshot);
  if (!record.parent.empty()) object["parent"] = record.parent;
  if (!record.checkpoint.empty()) object[record.what == "checkpoint" ? "name" : "checkpoint"] = record.checkpoint;
  if (!record.without.empty()) object["without"] = record.without;
  if (record.what == "segment") object["records"] = record.records_before;
  return object;
}

GrowthRecordKind read_growth_record(std::string_view text, GrowthRecord& record) {
  if (text.size() > kLongestRecord) return GrowthRecordKind::kDamaged;
  const auto shallow = [](int depth, json::parse_event_t, json&) {
    if (depth > kDeepestRecord) throw std::length_error("nested too deeply");
    return true;
  };
  try {
    record = {};
    if (read_plain_checkpoint(text, record)) return GrowthRecordKind::kGrowth;
    record = {};
    return read(json::parse(text, shallow), record);
  } catch (const std::exception&) {
    return GrowthRecordKind::kDamaged;
  }
}

std::optional<GrowthRecord> read_segment(std::string_view text) {
  if (text.find("\"segment\"") == std::string_view::npos) return std::nullopt;
  GrowthRecord record;
  const bool sound = read_growth_record(text, record) == GrowthRecordKind::kGrowth;
  return sound && record.what == "segment" && record.snapshot ? std::optional(std::move(record)) : std::nullopt;
}

}  // namespace esper::history
