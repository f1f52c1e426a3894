#include "lanes/shape/bits_journal.h"

namespace esper::lanes {

const LaneRecord* BitsJournal::restore(StepShape& shape, std::int64_t number) {
  if (const auto known = bits_.find(shape.name); known != bits_.end()) shape.recorded.key = known->second;
  const LaneRecord* record = log_.at(shape.name, number);
  if (record == nullptr || shape.recorded.key) return nullptr;
  shape.recorded.key = bits_[shape.name] = record->key;
  return record->key.empty() ? nullptr : record;
}

bool BitsJournal::changed(StepShape& shape, const StepTally& ran) {
  auto& [key, bits] = shape.recorded;
  if (bits == ran.bits) return false;
  bits = ran.bits;
  if (key == ran.key) return false;
  key = bits_[shape.name] = ran.key;
  return true;
}

bool BitsJournal::repeat(StepShape& shape, const StepTally& ran) { return changed(shape, ran) && !ran.key.empty(); }

bool BitsJournal::record(StepShape& shape, const StepTally& ran, std::int64_t number) {
  if (!changed(shape, ran)) return false;
  if (append_record_) append_record_(lane_record_json(shape.name, {number, ran.key}));
  return !ran.key.empty();
}

void BitsJournal::record_all(std::int64_t number, const BitsOf& bits_of) {
  for (auto& [shape, key] : bits_) {
    const std::string now = bits_of(shape, key);
    if (key == now) continue;
    key = now;
    if (append_record_) append_record_(lane_record_json(shape, {number, now}));
  }
}

}  // namespace esper::lanes
