#include "data/readers/csv_classes.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "data/files/csv_field.h"
#include "data/files/input_error.h"
#include "data/files/memory_need.h"

namespace esper::data {

void CsvClasses::add(Class one, std::int64_t line, std::int64_t other_bytes) {
  if (ids_.empty()) first_ = one.kind;
  named_ += one.kind == Kind::kName;
  ids_.push_back(id_of(std::move(one.text), line, other_bytes));
}

std::int64_t CsvClasses::id_of(std::string text, std::int64_t line, std::int64_t other_bytes) {
  constexpr std::int64_t kNode = 160, kCopies = 5;  // the data set's two parts and what is sorted keep the names, too
  const auto size = static_cast<std::int64_t>(text.size());
  const auto [entry, is_new] = known_.try_emplace(std::move(text), Known{next_id_, line});
  if (!is_new) return entry->second.id;
  if (++next_id_ > kMaxClasses) {
    fail_input(file_, "", fmt::format("more than {} classes; the class is the last field", kMaxClasses));
  }
  name_bytes_ += (size + kNode) * kCopies;
  if (name_bytes_ > checked_name_bytes_) {
    const auto ids = 2 * ids_.capacity() - ids_.size();  // those to come, and all labels
    const auto bytes_to_come = other_bytes + static_cast<std::int64_t>(ids * sizeof(std::int64_t));
    require_memory(file_, "its class names", name_bytes_ + bytes_to_come, options_);
    checked_name_bytes_ = 2 * name_bytes_;
  }
  return entry->second.id;
}

std::optional<CsvClasses::Class> CsvClasses::drop_odd_first() {
  const auto others = static_cast<std::int64_t>(ids_.size()) - 1;
  const bool stands_out = named_ == (first_ == Kind::kName ? 1 : others);
  if (others < 1 || !stands_out) return std::nullopt;
  const auto first =
      std::find_if(known_.begin(), known_.end(), [&](auto& entry) { return entry.second.id == ids_[0]; });
  ids_.erase(ids_.begin());
  return Class{std::move(known_.extract(first).key()), first_};
}

void CsvClasses::finish(RawSamples& samples) const {
  auto& names = samples.class_names;
  for (const auto& [name, known] : known_) names.push_back(name);
  const bool numeric = std::all_of(names.begin(), names.end(), [](const auto& n) { return number_of(n).has_value(); });
  if (numeric) std::sort(names.begin(), names.end(), [](auto& a, auto& b) { return *number_of(a) < *number_of(b); });
  std::vector<std::int64_t> label(static_cast<std::size_t>(next_id_));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& known = known_.at(names[i]);
    label[static_cast<std::size_t>(known.id)] = static_cast<std::int64_t>(i);
    samples.class_places.push_back(fmt::format("line {}", known.line));
  }
  samples.labels.reserve(ids_.size());
  for (const auto id : ids_) samples.labels.push_back(label[static_cast<std::size_t>(id)]);
}

}  // namespace esper::data
