#include "data/raw_samples.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "data/input_error.h"

namespace esper::data {
namespace {

std::string to_text(const std::vector<std::int64_t>& sizes) {
  std::string text = "[";
  for (const auto size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

}  // namespace

std::int64_t default_max_bytes() {
  constexpr std::int64_t kMost = std::int64_t{16} << 30;
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? std::min(kMost, pages * page / 2) : kMost;
}

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
    fail_config("shape", to_text(shape) + " does not fit samples of shape " + to_text(samples.sizes) + " (" +
                             std::to_string(elements_of(samples.sizes)) + " numbers each)");
  }
  samples.sizes = shape;
}

void align_classes(const RawSamples& train, RawSamples& validation, const std::filesystem::path& validation_file) {
  if (train.class_names == validation.class_names) return;
  std::map<std::string, std::int64_t> known;
  for (std::size_t i = 0; i < train.class_names.size(); ++i) known[train.class_names[i]] = static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i < validation.labels.size(); ++i) {
    const auto& name = validation.class_names.at(static_cast<std::size_t>(validation.labels[i]));
    const auto found = known.find(name);
    if (found == known.end()) {
      fail_input(validation_file, "sample " + std::to_string(i),
                 "class \"" + name + "\" does not occur in the training data");
    }
    validation.labels[i] = found->second;
  }
  validation.class_names = train.class_names;
}

}  // namespace esper::data
