#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "data/adopt.h"
#include "data/dataset.h"
#include "data/files/input_error.h"
#include "data/files/memory_need.h"
#include "data/order/selection.h"
#include "data/readers/sample_parts.h"
#include "data/text_splits.h"
#include "device/out_of_memory.h"

namespace esper::data {
namespace {

using config::DataConfig;
using config::DataKind;

Dataset to_dataset(RawSamples raw, std::int64_t num_classes) {
  Dataset set;
  const auto count = static_cast<std::int64_t>(raw.labels.size());
  auto sizes = raw.sizes;
  sizes.insert(sizes.begin(), count);
  set.inputs = std::visit([&](auto& values) { return adopt(std::move(values), sizes); }, raw.values);
  set.targets = adopt(std::move(raw.labels), {count});
  set.shape = raw.sizes.size() == 1 ? leyline::features_shape(raw.sizes[0], num_classes)
                                    : leyline::image_shape(raw.sizes[0], raw.sizes[1], raw.sizes[2], num_classes);
  set.class_names = std::move(raw.class_names);
  return set;
}

std::int64_t bytes_of(const Dataset& set) {
  return static_cast<std::int64_t>(set.inputs.nbytes() + (set.targets.defined() ? set.targets.nbytes() : 0));
}

Dataset chosen(const Dataset& set, std::vector<std::int64_t> indices) {
  const auto count = static_cast<std::int64_t>(indices.size());
  if (count == num_samples(set)) return set;
  const auto index = adopt(std::move(indices), {count});
  auto out = set;
  out.inputs = set.inputs.index_select(0, index);
  out.targets = set.targets.index_select(0, index);
  return out;
}

// At most data.max_samples of them.
Dataset thinned(const Dataset& set, const DataConfig& config, const ReadOptions& options) {
  const auto count = num_samples(set);
  auto kept = evenly(count, config.max_samples);
  const auto used = static_cast<std::int64_t>(kept.size());
  if (used < count)
    require_memory(name_of_data(config), "data.max_samples samples", bytes_of(set) / count * used, options);
  return chosen(set, std::move(kept));
}

// The network's outputs: no label of the test part adds one.
std::int64_t count_classes(const RawParts& parts) {
  auto most = static_cast<std::int64_t>(parts.train.class_names.size());
  for (const auto label : parts.train.labels) most = std::max(most, label + 1);
  if (parts.validation) {
    for (const auto label : parts.validation->labels) most = std::max(most, label + 1);
  }
  return most;
}

void require_known_classes(const RawSamples& test, std::int64_t num_classes, const DataConfig& config) {
  for (const auto label : test.labels) {
    if (label < num_classes) continue;
    fail_input(config.test_path, "", fmt::format("class {} does not occur in the training data", label));
  }
}

// The parts that no file of their own holds.
void split_off(Splits& splits, const SplitFractions& fractions, const DataConfig& config, TestPart test,
               const ReadOptions& options) {
  const auto count = num_samples(splits.train);
  require_splittable(name_of_data(config), count, fractions);
  const auto indices = count * std::int64_t{sizeof(std::int64_t)};
  require_memory(name_of_data(config), "the split into training and validation", bytes_of(splits.train) + 3 * indices,
                 options);
  auto split = split_indices(count, fractions, config.split_seed);
  const auto all = std::move(splits.train);
  splits.train = chosen(all, std::move(split.train));
  if (fractions.validation > 0) splits.validation = chosen(all, std::move(split.validation));
  if (fractions.test > 0 && test == TestPart::kRead) splits.test = chosen(all, std::move(split.test));
}

Splits split_samples(const DataConfig& config, TestPart test, const ReadOptions& options) {
  auto parts = read_samples(config, test, options);
  const auto num_classes = count_classes(parts);
  const SplitFractions fractions{parts.validation ? 0 : config.validation_fraction, config.test_fraction};
  Splits splits;
  splits.skipped = parts.skipped;
  splits.train = to_dataset(std::move(parts.train), num_classes);
  if (parts.validation) splits.validation = to_dataset(std::move(*parts.validation), num_classes);
  if (parts.test) {
    require_known_classes(*parts.test, num_classes, config);
    splits.test = to_dataset(std::move(*parts.test), num_classes);
  }
  const bool splits_off = fractions.validation > 0 || fractions.test > 0;
  if (splits_off && config.kind != DataKind::kImages) split_off(splits, fractions, config, test, options);
  for (auto* part : {&splits.train, &splits.validation}) *part = thinned(*part, config, options);
  if (splits.test) splits.test = thinned(*splits.test, config, options);
  if (config.standardize) splits.standardization = measure(splits.train.inputs, splits.train.shape);
  return splits;
}

}  // namespace

std::int64_t num_samples(const Dataset& dataset) {
  return dataset.shape.kind == leyline::SampleKind::kTokens ? dataset.windows.size(0) : dataset.targets.size(0);
}

Splits load_dataset(const DataConfig& config, TestPart test) {
  const bool needs_path = config.kind != DataKind::kDigits && config.kind != DataKind::kSynthetic;
  if (needs_path && config.path.empty()) fail_config("path", "is missing; this kind of data needs a file or folder");
  if (config.image_size > 0 && config.kind != DataKind::kImages) {
    fail_config("image_size", "applies to kind images only");
  }
  require_places(config);
  const ReadOptions options{config.bad_sample, 0};
  try {
    return config.kind == DataKind::kText ? split_text(config, test, options) : split_samples(config, test, options);
  } catch (const base::Error&) {
    throw;
  } catch (const std::exception& error) {
    const auto lack = device::out_of_memory_message(error);
    if (lack.empty()) throw;
    throw base::Error(base::ExitCode::kResources, name_of_data(config) + ": not enough memory (" + lack +
                                                      "); use a smaller file, or give the process more memory");
  }
}

}  // namespace esper::data
