#include "tolaria/lane_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/journal.h"

namespace esper::tolaria {

void LaneLog::add(const std::string& shape, LaneNote note) {
  std::vector<LaneNote>& notes = notes_[shape];
  std::erase_if(notes, [&](const LaneNote& known) { return known.step >= note.step; });
  notes.push_back(std::move(note));
}

const LaneNote* LaneLog::at(const std::string& shape, std::int64_t step) const {
  const auto found = notes_.find(shape);
  if (found == notes_.end()) return nullptr;
  const LaneNote* in_force = nullptr;
  for (const LaneNote& note : found->second) {
    if (note.step <= step) in_force = &note;
  }
  return in_force;
}

bool LaneLog::goes_on_after(const std::string& shape, std::int64_t step) const {
  const auto found = notes_.find(shape);
  return found != notes_.end() && found->second.back().step > step;
}

std::string lane_note_json(const std::string& shape, const LaneNote& note) {
  return nlohmann::json{{"what", "lane"}, {"step", note.step}, {"shape", shape}, {"key", note.key}}.dump();
}

LaneLog read_lane_log(leyline::FileSystem& files, const std::string& journal_path) {
  LaneLog log;
  storage::scan_journal(files, journal_path, [&](std::string_view text) {
    const auto note = nlohmann::json::parse(text, nullptr, false);
    if (!note.is_object() || note.value("what", "") != "lane") return;
    const auto is = [&](const char* name, auto type) { return note.contains(name) && (note[name].*type)(); };
    using Json = nlohmann::json;
    if (!is("step", &Json::is_number_integer) || !is("shape", &Json::is_string) || !is("key", &Json::is_string)) return;
    log.add(note["shape"], {note["step"].get<std::int64_t>(), note["key"]});
  });
  return log;
}

}  // namespace esper::tolaria
