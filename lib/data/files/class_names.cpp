#include "data/files/class_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text/printable.h"
#include "data/files/csv_field.h"
#include "data/files/input_error.h"

namespace esper::data {

base::Expected<std::string> ClassNames::checked(std::string_view text) {
  constexpr double kLargest = 1e15;
  const auto name = trimmed(text);
  if (name.empty()) return base::failure("the class is missing");
  const auto value = number_of(name);
  if (!value) return std::string(name);
  if (std::trunc(*value) == *value && std::abs(*value) <= kLargest) {
    return std::to_string(static_cast<std::int64_t>(*value));
  }
  return base::failure(not_a_class(name));
}

std::string not_a_class(std::string_view text) {
  return "the class must be a whole number or a name, found " + base::in_quotes(text) +
         "; other numbers are targets of task: regression";
}

std::int64_t ClassNames::id_of(const std::string& name, const std::filesystem::path& file, const std::string& place) {
  const auto next = static_cast<std::int64_t>(classes_.size());
  const auto [entry, is_new] = classes_.try_emplace(name, Class{next, place});
  if (is_new && next >= kMaxClasses) fail_input(file, place, fmt::format("more than {} classes", kMaxClasses));
  return entry->second.id;
}

void ClassNames::finish(RawSamples& samples) const {
  auto& names = samples.class_names;
  for (const auto& [name, known] : classes_) names.push_back(name);
  const bool numeric = std::all_of(names.begin(), names.end(), [](const auto& n) { return number_of(n).has_value(); });
  if (numeric) {
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return *number_of(a) < *number_of(b); });
  }
  std::vector<std::int64_t> label(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& known = classes_.at(names[i]);
    label[static_cast<std::size_t>(known.id)] = static_cast<std::int64_t>(i);
    samples.class_places.push_back(known.place);
  }
  for (auto& id : samples.labels) id = label[static_cast<std::size_t>(id)];
}

}  // namespace esper::data
