#pragma once
// What the training thread did when, for a trace: the newest spans and marks, in rings that never grow. One thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ledger/owner.h"

namespace esper::base {

struct Span {
  enum class Kind : std::uint8_t { kOwner, kStep, kEpoch };
  std::uint64_t begin = 0, end = 0;  // ticks of the ledger
  std::int64_t number = 0;           // of the step or the epoch it belongs to
  Kind kind = Kind::kOwner;
  Owner owner = Owner::kIdle;  // kOwner
};

// A moment with a name, or a figure at a moment.
struct Mark {
  std::uint64_t when = 0;
  std::string name;
  std::map<std::string, std::string> attributes;
  std::optional<double> value;
};

template <class Entry>
class Ring {
 public:
  explicit Ring(std::size_t capacity) : capacity_(capacity) { entries_.reserve(capacity); }
  void add(Entry entry) {
    if (entries_.size() < capacity_) {
      entries_.push_back(std::move(entry));
    } else {
      entries_[static_cast<std::size_t>(added_ % capacity_)] = std::move(entry);
    }
    ++added_;
  }
  // In no order.
  const std::vector<Entry>& newest() const { return entries_; }
  std::uint64_t dropped() const { return added_ - entries_.size(); }

 private:
  std::size_t capacity_;
  std::uint64_t added_ = 0;
  std::vector<Entry> entries_;
};

struct SpanLog {
  static constexpr std::size_t kSpans = 100'000, kMarks = 20'000;
  Ring<Span> spans{kSpans};
  Ring<Mark> marks{kMarks};
};

}  // namespace esper::base
