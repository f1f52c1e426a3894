#include "data/table/table_split.h"

#include <fmt/core.h>

#include <numeric>

#include "base/text/printable.h"

namespace esper::data {
namespace {

void drop_untrained(std::vector<std::int64_t>& part, const TableRows& rows, const std::vector<bool>& trained,
                    const std::filesystem::path& file, BadSamples& bad) {
  std::erase_if(part, [&](std::int64_t row) {
    const auto label = static_cast<std::size_t>(rows.targets.labels[static_cast<std::size_t>(row)]);
    if (trained[label]) return false;
    bad.report(file, fmt::format("line {}", rows.lines[static_cast<std::size_t>(row)]),
               "class " + base::in_quotes(rows.targets.class_names[label]) +
                   " does not occur in the training part; another data.split_seed may put it there, and a number to "
                   "predict is task: regression");
    return true;
  });
}

template <class T>
std::vector<T> chosen_values(const std::vector<T>& values, const std::vector<std::int64_t>& chosen,
                             std::int64_t width) {
  std::vector<T> out;
  if (values.empty()) return out;
  out.reserve(chosen.size() * static_cast<std::size_t>(width));
  for (const auto row : chosen) {
    const auto begin = values.begin() + row * width;
    out.insert(out.end(), begin, begin + width);
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> all_rows(const TableRows& rows) {
  std::vector<std::int64_t> all(rows.lines.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

SplitIndices split_rows(const TableRows& rows, const SplitFractions& fractions, std::uint64_t seed,
                        const std::filesystem::path& file, BadSamples& bad) {
  const auto count = static_cast<std::int64_t>(rows.lines.size());
  require_splittable(file, count, fractions);
  auto split = split_indices(count, fractions, seed);
  if (rows.targets.labels.empty()) return split;
  std::vector<bool> trained(rows.targets.class_names.size());
  for (const auto row : split.train) {
    trained[static_cast<std::size_t>(rows.targets.labels[static_cast<std::size_t>(row)])] = true;
  }
  for (auto* part : {&split.validation, &split.test}) drop_untrained(*part, rows, trained, file, bad);
  return split;
}

RawSamples chosen_targets(const RawSamples& targets, const std::vector<std::int64_t>& chosen) {
  RawSamples out;
  const auto width = elements_of(targets.target_sizes);
  out.labels = chosen_values(targets.labels, chosen, width);
  out.numbers = chosen_values(targets.numbers, chosen, width);
  out.target_sizes = targets.target_sizes;
  out.class_names = targets.class_names;
  out.class_places = targets.class_places;
  return out;
}

}  // namespace esper::data
