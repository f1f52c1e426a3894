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

std::int64_t samples_in(const RawSamples& samples) {
  const auto targets = samples.numbers.empty() ? samples.labels.size() : samples.numbers.size();
  return static_cast<std::int64_t>(targets) / elements_of(samples.target_sizes);
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
  if (samples.target_sizes.size() == 2 &&
      !std::equal(shape.begin() + 1, shape.end(), samples.target_sizes.begin(), samples.target_sizes.end())) {
    fail_config("shape",
                to_text(shape) + " does not fit a class for each of " + to_text(samples.target_sizes) + " pixels");
  }
  samples.sizes = shape;
}

void align_classes(const RawSamples& train, RawSamples& validation, const std::filesystem::path& validation_file) {
  if (train.class_names == validation.class_names || !validation.numbers.empty()) return;
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

void align_features(const std::vector<std::string>& names, RawSamples& samples, const std::filesystem::path& file) {
  const auto& own = samples.feature_names;
  auto* values = std::get_if<std::vector<float>>(&samples.values);
  if (names.empty() || own.empty() || names == own || values == nullptr) return;
  std::vector<std::size_t> places;
  for (const auto& name : names) {
    const auto found = std::ranges::find(own, name);
    if (found == own.end()) {
      fail_input(file, "",
                 "column \"" + name + "\" of the training data is not there before the last one, which is the target");
    }
    places.push_back(static_cast<std::size_t>(found - own.begin()));
  }
  const auto added =
      std::ranges::find_if(own, [&](const auto& name) { return std::ranges::find(names, name) == names.end(); });
  if (added != own.end()) fail_input(file, "", "the training data have no column \"" + *added + "\"");
  std::vector<float> row(own.size());
  for (auto at = values->begin(); at != values->end(); at += static_cast<std::ptrdiff_t>(row.size())) {
    std::copy_n(at, row.size(), row.begin());
    std::ranges::transform(places, at, [&](std::size_t place) { return row[place]; });
  }
  samples.feature_names = names;
}

void require_same_target(const std::string& known, const RawSamples& samples, const std::filesystem::path& file) {
  const auto& name = samples.target_name;
  if (name.empty() || known.empty() || name == known) return;
  fail_input(file, "",
             "the last column, which is the target, is \"" + name + "\"; that of the training data is \"" + known +
                 "\"; if they are the same, give them one name in both headers");
}

}  // namespace esper::data
