#include "lanes/shape/bits_journal.h"

namespace esper::lanes {

std::int64_t BitsJournal::restore(StepShape& shape, std::int64_t number) {
  const auto known = bits_.find(shape.name);
  if (known != bits_.end() && known->second.is_recorded) {
    shape.recorded.key = known->second.key;
    shape.recorded.on_trial = known->second.on_trial;
  }
  const auto record = log_.at(shape.name, number);
  if (!record) return number;
  // The last turn of a trial ends with the structure that it was in.
  if (known != bits_.end() && record->on_trial && is_done(shape, number)) {
    forget(shape);
    return number;
  }
  if (shape.recorded.key) return number;
  shape.recorded.key = record->key;
  shape.recorded.on_trial = record->on_trial;
  shape.recorded.progress = record->progress;
  bits_[shape.name] = {record->key, record->on_trial, record->progress};
  return record->key.empty() ? number : record->step;
}

void BitsJournal::give_up(StepShape& shape) {
  forget(shape);
  shape.recorded = {};
  bits_[shape.name].is_recorded = false;
}

bool BitsJournal::changed(StepShape& shape, const StepTally& ran, bool on_trial) {
  RecordedBits& recorded = shape.recorded;
  if (recorded.bits == ran.bits) return false;
  recorded.bits = on_trial ? RecordedBits::kUnknown : ran.bits;
  if (recorded.key == ran.key && recorded.on_trial == on_trial) return false;
  recorded.key = ran.key;
  recorded.on_trial = on_trial;
  bits_[shape.name] = {ran.key, on_trial};
  return true;
}

void BitsJournal::rolled_back() {
  for (auto& [shape, last] : bits_) last.is_recorded = false;
}

bool BitsJournal::repeat(StepShape& shape, const StepTally& ran, std::int64_t number) {
  const auto record = at(shape, number);
  const bool has_changed = changed(shape, ran, record && record->on_trial);
  shape.recorded.progress = bits_[shape.name].progress = record ? record->progress : LaneProgress();
  return has_changed;
}

bool BitsJournal::record(StepShape& shape, const StepTally& ran, std::int64_t number, LaneProgress progress) {
  const bool on_trial = !ran.key.empty() && !(shape.incumbent && shape.incumbent->key() == ran.key);
  if (paused_) return false;
  const bool has_changed = changed(shape, ran, on_trial);
  const bool advances = ran.key.empty() && progress != shape.recorded.progress;
  if (!has_changed && !advances) return false;
  shape.recorded.progress = bits_[shape.name].progress = progress;
  append(shape.name, {.step = number, .key = ran.key, .on_trial = on_trial, .progress = progress});
  return !ran.key.empty();
}

void BitsJournal::record_comparison(StepShape& shape, const StepTally& ran, std::int64_t number,
                                    LaneProgress progress) {
  if (paused_) return;
  StepTally next;
  next.bits = shape.incumbent->bits();
  next.key = shape.incumbent->key();
  changed(shape, ran, false);
  changed(shape, next, false);
  shape.recorded.progress = bits_[shape.name].progress = progress;
  append(shape.name, {.step = number, .key = ran.key, .then = next.key, .progress = progress});
}

void BitsJournal::append(const std::string& shape, const LaneRecord& record) {
  if (append_record_) append_record_(lane_record_json(shape, record));
}

bool BitsJournal::end_structure(std::int64_t number) {
  bool had_program = false;
  for (const auto& [shape, record] : log_.end_structure(number)) {
    bits_[shape] = {.key = record.key, .on_trial = record.on_trial, .progress = record.progress};
    had_program |= !record.key.empty() && !record.on_trial;
  }
  return had_program;
}

void BitsJournal::record_all(std::int64_t number, const BitsOf& bits_of) {
  for (auto& [shape, last] : bits_) {
    if (log_.goes_on_after(shape, number - 1)) continue;
    const std::string now = bits_of(shape, last.key);
    // Progress is that of the structure that ends.
    if (last.is_recorded && last.key == now && !last.on_trial && last.progress == LaneProgress()) continue;
    last = {now};
    append(shape, {.step = number, .key = now});
  }
}

}  // namespace esper::lanes
