#include "lanes/shape/lane_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/json_fields.h"
#include "history/growth/growth_record.h"
#include "program/cache/cache_key.h"
#include "storage/journal/journal.h"

namespace esper::lanes {

namespace {

// Occurs in every record about lanes ("what":"lane", "lanes":[...]); other records need not be parsed.
constexpr std::string_view kWord = "\"lane";

bool is_sound(const nlohmann::json& record) {
  const auto& step = base::member(record, "step");
  const auto& key = base::member(record, "key");
  const auto& trial = base::member(record, "trial");
  if (!step.is_number_integer() || !base::member(record, "shape").is_string() || !key.is_string()) return false;
  if (!trial.is_null() && !trial.is_boolean()) return false;
  const auto& then = base::member(record, "then");
  if (!then.is_null() && !(then.is_string() && program::is_cache_key(then.get_ref<const std::string&>()))) return false;
  const auto& stage = base::member(record, "stage");
  if (!stage.is_null() && !stage.is_string()) return false;  // another version may have others
  const auto& count = base::member(record, "count");
  if (!count.is_null() && !(count.is_number_integer() && count.get<std::int64_t>() >= 0)) return false;
  const auto& text = key.get_ref<const std::string&>();
  return step.get<std::int64_t>() >= 0 && (text.empty() || program::is_cache_key(text));
}

// What is not set is left out, as it is in records of earlier versions.
nlohmann::json json_of(const std::string& shape, const LaneRecord& record) {
  nlohmann::json json{{"step", record.step}, {"shape", shape}, {"key", record.key}};
  if (record.on_trial) json["trial"] = true;
  if (!record.then.empty()) json["then"] = record.then;
  if (record.progress.stage != LaneStage::kNone) json["stage"] = base::name_of(record.progress.stage);
  if (record.progress.count != 0) json["count"] = record.progress.count;
  return json;
}

}  // namespace

void LaneLog::take(std::string_view text) {
  if (text.find(kWord) == std::string_view::npos) return;
  const auto record = nlohmann::json::parse(text, nullptr, false);
  const auto what = base::text_at(record, "what");
  if (what == "lane") take_record(record);
  if (what != "segment") return;
  const auto& lanes = base::member(record, "lanes");
  if (!lanes.is_array()) return;
  for (const auto& lane : lanes) take_record(lane);
}

void LaneLog::take_record(const nlohmann::json& record) {
  if (!is_sound(record)) {
    ++damaged_;
    return;
  }
  add(record["shape"],
      {.step = record["step"].get<std::int64_t>(),
       .key = record["key"],
       .on_trial = base::value_at<bool>(record, "trial"),
       .then = base::text_at(record, "then"),
       .progress = {.stage = base::from_name<LaneStage>(base::text_at(record, "stage")).value_or(LaneStage::kNone),
                    .count = base::value_at<std::int64_t>(record, "count")}});
}

nlohmann::json LaneLog::since(std::int64_t step) const {
  auto lanes = nlohmann::json::array();
  for (const auto& [shape, records] : records_) {
    const LaneRecord* in_force = written_at(shape, step);
    for (const LaneRecord& record : records) {
      if (in_force != nullptr && record.step < in_force->step) continue;
      lanes.push_back(json_of(shape, record));
    }
  }
  return lanes;
}

void LaneLog::add(const std::string& shape, LaneRecord record) {
  std::vector<LaneRecord>& records = records_[shape];
  std::erase_if(records, [&](const LaneRecord& known) { return known.step >= record.step; });
  records.push_back(std::move(record));
}

std::map<std::string, LaneRecord> LaneLog::end_structure(std::int64_t step) {
  std::map<std::string, LaneRecord> ended;
  for (const auto& [shape, records] : records_) {
    if (records.back().step < step) ended.emplace(shape, *at(shape, step));
  }
  for (const auto& [shape, record] : ended) forget(shape);
  return ended;
}

std::optional<LaneRecord> LaneLog::at(const std::string& shape, std::int64_t step) const {
  const LaneRecord* written = written_at(shape, step);
  if (written == nullptr) return std::nullopt;
  if (written->then.empty() || written->step == step) return *written;
  return LaneRecord{.step = written->step + 1, .key = written->then, .progress = written->progress};
}

const LaneRecord* LaneLog::written_at(const std::string& shape, std::int64_t step) const {
  const auto found = records_.find(shape);
  if (found == records_.end()) return nullptr;
  const LaneRecord* in_force = nullptr;
  for (const LaneRecord& record : found->second) {
    if (record.step <= step) in_force = &record;
  }
  return in_force;
}

bool LaneLog::goes_on_after(const std::string& shape, std::int64_t step) const {
  const auto found = records_.find(shape);
  if (found == records_.end()) return false;
  const LaneRecord& last = found->second.back();
  return last.step > step || (last.step == step && !last.then.empty());
}

std::string lane_record_json(const std::string& shape, const LaneRecord& record) {
  auto json = json_of(shape, record);
  json["what"] = "lane";
  return json.dump();
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
