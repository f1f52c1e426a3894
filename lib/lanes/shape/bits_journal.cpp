#include "lanes/shape/bits_journal.h"

namespace esper::lanes {

const LaneRecord* BitsJournal::restore(StepShape& shape, std::int64_t number) {
  if (const auto known = bits_.find(shape.name); known != bits_.end() && known->second.is_recorded) {
    shape.recorded.key = known->second.key;
  }
  const LaneRecord* record = log_.at(shape.name, number);
  if (record == nullptr || shape.recorded.key) return nullptr;
  shape.recorded.key = record->key;
  bits_[shape.name] = {record->key};
  return record->key.empty() ? nullptr : record;
}

bool BitsJournal::changed(StepShape& shape, const StepTally& ran) {
  auto& [key, bits] = shape.recorded;
  if (bits == ran.bits) return false;
  bits = ran.bits;
  if (key == ran.key) return false;
  key = ran.key;
  bits_[shape.name] = {ran.key};
  return true;
}

void BitsJournal::rolled_back() {
  for (auto& [shape, last] : bits_) last.is_recorded = false;
}

bool BitsJournal::repeat(StepShape& shape, const StepTally& ran) { return changed(shape, ran) && !ran.key.empty(); }

bool BitsJournal::record(StepShape& shape, const StepTally& ran, std::int64_t number) {
  if (paused_ || !changed(shape, ran)) return false;
  if (append_record_) append_record_(lane_record_json(shape.name, {number, ran.key}));
  return !ran.key.empty();
}

void BitsJournal::record_all(std::int64_t number, const BitsOf& bits_of) {
  for (auto& [shape, last] : bits_) {
    if (log_.goes_on_after(shape, number - 1)) continue;
    const std::string now = bits_of(shape, last.key);
    if (last.is_recorded && last.key == now) continue;
    last = {now};
    if (append_record_) append_record_(lane_record_json(shape, {number, now}));
  }
}

}  // namespace esper::lanes
