#include "lanes/shape/lane_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/json_fields.h"
#include "history/growth_record.h"
#include "program/cache/cache_key.h"
#include "storage/journal.h"

namespace esper::lanes {

namespace {

// Occurs in every record about lanes ("what":"lane", "lanes":[...]); other records need not be parsed.
constexpr std::string_view kWord = "\"lane";

bool is_sound(const nlohmann::json& note) {
  const auto& step = base::member(note, "step");
  const auto& key = base::member(note, "key");
  if (!step.is_number_integer() || !base::member(note, "shape").is_string() || !key.is_string()) return false;
  const auto& text = key.get_ref<const std::string&>();
  return step.get<std::int64_t>() >= 0 && (text.empty() || program::is_cache_key(text));
}

}  // namespace

void LaneLog::take(std::string_view text) {
  if (text.find(kWord) == std::string_view::npos) return;
  const auto note = nlohmann::json::parse(text, nullptr, false);
  const auto what = base::text_at(note, "what");
  if (what == "lane") take_record(note);
  if (what != "segment") return;
  const auto& lanes = base::member(note, "lanes");
  if (!lanes.is_array()) return;
  for (const auto& lane : lanes) take_record(lane);
}

void LaneLog::take_record(const nlohmann::json& note) {
  if (!is_sound(note)) {
    ++damaged_;
    return;
  }
  add(note["shape"], {note["step"].get<std::int64_t>(), note["key"]});
}

nlohmann::json LaneLog::since(std::int64_t step) const {
  auto lanes = nlohmann::json::array();
  for (const auto& [shape, notes] : notes_) {
    const LaneRecord* in_force = at(shape, step);
    for (const LaneRecord& note : notes) {
      if (in_force != nullptr && note.step < in_force->step) continue;
      lanes.push_back({{"step", note.step}, {"shape", shape}, {"key", note.key}});
    }
  }
  return lanes;
}

void LaneLog::add(const std::string& shape, LaneRecord note) {
  std::vector<LaneRecord>& notes = notes_[shape];
  std::erase_if(notes, [&](const LaneRecord& known) { return known.step >= note.step; });
  notes.push_back(std::move(note));
}

const LaneRecord* LaneLog::at(const std::string& shape, std::int64_t step) const {
  const auto found = notes_.find(shape);
  if (found == notes_.end()) return nullptr;
  const LaneRecord* in_force = nullptr;
  for (const LaneRecord& note : found->second) {
    if (note.step <= step) in_force = &note;
  }
  return in_force;
}

bool LaneLog::goes_on_after(const std::string& shape, std::int64_t step) const {
  const auto found = notes_.find(shape);
  return found != notes_.end() && found->second.back().step > step;
}

std::string lane_record_json(const std::string& shape, const LaneRecord& note) {
  return nlohmann::json{{"what", "lane"}, {"step", note.step}, {"shape", shape}, {"key", note.key}}.dump();
}

LaneLog read_lane_log(base::FileSystem& files, const std::string& journal_path, std::int64_t step) {
  LaneLog log;
  const auto begins = [&](std::string_view text) {
    const auto segment = history::read_segment(text);
    return segment && segment->place.step <= step;
  };
  storage::scan_journal_from(files, journal_path, begins, [&](std::string_view text) { log.take(text); });
  return log;
}

}  // namespace esper::lanes
