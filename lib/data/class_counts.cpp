#include "data/class_counts.h"

#include <torch/types.h>

#include <algorithm>

#include "base/text/printable.h"

namespace esper::data {

std::string name_of_class(const Dataset& set, std::int64_t number) {
  const auto& names = set.class_names;
  return number < static_cast<std::int64_t>(names.size()) ? base::utf8_text(names[static_cast<std::size_t>(number)])
                                                          : std::to_string(number);
}

std::vector<std::int64_t> class_counts(const Dataset& set) {
  if (!set.targets.defined() || set.targets.scalar_type() != torch::kInt64 || set.process) return {};
  std::vector<std::int64_t> counts(static_cast<std::size_t>(set.shape.num_classes));
  const auto targets = set.targets.contiguous();
  const auto* labels = targets.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < targets.numel(); ++i) ++counts[static_cast<std::size_t>(labels[i])];
  return counts;
}

std::vector<std::string> classes_without_samples(const Dataset& train) {
  std::vector<std::string> names;
  const auto counts = class_counts(train);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) names.push_back(name_of_class(train, static_cast<std::int64_t>(i)));
  }
  return names;
}

std::optional<std::string> only_class(const Dataset& train) {
  const auto counts = class_counts(train);
  const auto has_samples = [](std::int64_t count) { return count > 0; };
  if (std::ranges::count_if(counts, has_samples) != 1) return std::nullopt;
  return name_of_class(train, std::ranges::find_if(counts, has_samples) - counts.begin());
}

}  // namespace esper::data
