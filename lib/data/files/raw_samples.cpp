#include "data/files/raw_samples.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text/joined.h"
#include "data/files/input_error.h"

namespace esper::data {
namespace {

std::string to_text(const std::vector<std::int64_t>& sizes) { return fmt::format("[{}]", base::joined(sizes)); }

}  // namespace

std::int64_t elements_of(const std::vector<std::int64_t>& sizes) {
  std::int64_t product = 1;
  for (const auto size : sizes) product *= size;
  return product;
}

std::optional<std::int64_t> checked_product(const std::vector<std::int64_t>& sizes) {
  std::int64_t product = 1;
  for (const auto size : sizes) {
    if (size < 0 || __builtin_mul_overflow(product, size, &product)) return std::nullopt;
  }
  return product;
}

void reshape(RawSamples& samples, const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return;
  if (shape.size() != 1 && shape.size() != 3) {
    fail_config("shape", "must be [features] or [channels, height, width], got " + to_text(shape));
  }
  const auto wanted = checked_product(shape);
  if (!wanted || *wanted != elements_of(samples.sizes)) {
    fail_config("shape", fmt::format("{} does not fit samples of shape {} ({} numbers each)", to_text(shape),
                                     to_text(samples.sizes), elements_of(samples.sizes)));
  }
  samples.sizes = shape;
}

void align_classes(const RawSamples& train, RawSamples& validation, const std::filesystem::path& validation_file) {
  if (train.class_names == validation.class_names) return;
  std::map<std::string, std::int64_t> known;
  for (std::size_t i = 0; i < train.class_names.size(); ++i) known[train.class_names[i]] = static_cast<std::int64_t>(i);
  for (auto& label : validation.labels) {
    const auto here = static_cast<std::size_t>(label);
    const auto found = known.find(validation.class_names.at(here));
    if (found == known.end()) {
      fail_input(validation_file, validation.class_places.at(here),
                 "class \"" + validation.class_names[here] + "\" does not occur in the training data");
    }
    label = found->second;
  }
  validation.class_names = train.class_names;
}

}  // namespace esper::data
