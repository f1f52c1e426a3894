#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/printable.h"
#include "data/adopt.h"
#include "data/dataset.h"
#include "data/files/input_error.h"
#include "data/files/memory_need.h"
#include "data/files/target_number.h"
#include "data/order/selection.h"
#include "data/preprocessing.h"
#include "data/process/sample_process.h"
#include "data/process_splits.h"
#include "data/readers/sample_parts.h"
#include "data/text_splits.h"
#include "data/token_splits.h"
#include "device/out_of_memory.h"

namespace esper::data {
namespace {

using config::DataConfig;
using config::DataKind;

Dataset to_dataset(RawSamples raw, std::int64_t num_classes) {
  Dataset set;
  const auto count = samples_in(raw);
  auto sizes = raw.sizes, target_sizes = raw.target_sizes;
  sizes.insert(sizes.begin(), count);
  target_sizes.insert(target_sizes.begin(), count);
  set.inputs = std::visit([&](auto& values) { return adopt(std::move(values), sizes); }, raw.values);
  set.targets =
      raw.numbers.empty() ? adopt(std::move(raw.labels), target_sizes) : adopt(std::move(raw.numbers), target_sizes);
  set.shape = raw.sizes.size() == 1 ? leyline::features_shape(raw.sizes[0], num_classes)
                                    : leyline::image_shape(raw.sizes[0], raw.sizes[1], raw.sizes[2], num_classes);
  set.class_names = std::move(raw.class_names);
  set.feature_names = std::move(raw.feature_names);
  set.target_name = std::move(raw.target_name);
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

// The network's outputs: labels of training alone make them.
std::int64_t count_outputs(const RawSamples& train) {
  if (!train.numbers.empty()) return train.target_sizes.at(0);
  auto most = static_cast<std::int64_t>(train.class_names.size());
  for (const auto label : train.labels) most = std::max(most, label + 1);
  return most;
}

// By label.
std::vector<bool> classes_in(const RawSamples& train, std::int64_t num_classes) {
  std::vector<bool> has(static_cast<std::size_t>(num_classes));
  for (const auto label : train.labels) has[static_cast<std::size_t>(label)] = true;
  return has;
}

// Of a part of its own, not split off. path: where it is; empty: beside the training part. Not for kinds that split
// themselves: what they leave for training may lack classes of data.path, and read_samples() compared the names.
void require_known_classes(const RawSamples& part, const std::vector<bool>& known, const std::string& path,
                           const DataConfig& config) {
  for (std::size_t i = 0; i < part.labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(part.labels[i]);
    if (label < known.size() && known[label]) continue;
    fail_input(path.empty() ? config.path : path, "",
               fmt::format(
                   "class {} does not occur in the training data",
                   label < part.class_names.size() ? base::in_quotes(part.class_names[label]) : std::to_string(label)));
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
  const auto num_classes = count_outputs(parts.train);
  const auto known = classes_in(parts.train, num_classes);
  const bool split_already = splits_itself(config.kind);
  const SplitFractions fractions{parts.validation ? 0 : config.validation_fraction, config.test_fraction};
  Splits splits;
  splits.skipped = parts.skipped;
  splits.first_skipped = parts.first_skipped;
  splits.train = to_dataset(std::move(parts.train), num_classes);
  if (parts.validation) {
    if (!split_already) require_known_classes(*parts.validation, known, config.validation_path, config);
    splits.validation = to_dataset(std::move(*parts.validation), num_classes);
  }
  if (parts.test) {
    if (!split_already) require_known_classes(*parts.test, known, config.test_path, config);
    splits.test = to_dataset(std::move(*parts.test), num_classes);
  }
  const bool splits_off = fractions.validation > 0 || fractions.test > 0;
  if (splits_off && !split_already) split_off(splits, fractions, config, test, options);
  for (auto* part : {&splits.train, &splits.validation}) *part = thinned(*part, config, options);
  if (splits.test) splits.test = thinned(*splits.test, config, options);
  for (auto* part : {&splits.train, &splits.validation}) part->table = parts.table;
  if (splits.test) splits.test->table = parts.table;
  if (config.standardize) splits.standardization = measure(splits.train.inputs, splits.train.shape);
  if (config.standardize_targets) measure_targets(splits.train.targets, splits.standardization);
  return splits;
}

// Which formats have targets other than classes, or none at all.
bool may_have_numbers(const DataConfig& config) {
  switch (config.kind) {
    case DataKind::kDigits:
    case DataKind::kCsv:
    case DataKind::kNpy:
    case DataKind::kTable:
    case DataKind::kParquet:
    case DataKind::kDatasets:
    case DataKind::kWebdataset:
    case DataKind::kProcess:
      return true;
    case DataKind::kImages:
      return !config.labels.empty();
    default:
      return false;
  }
}

void require_targets(const DataConfig& config, config::Task task) {
  const bool tokens =
      config.kind == DataKind::kText || config.kind == DataKind::kTokens || config.kind == DataKind::kProcess;
  const bool fits = has_number_targets(task) ? may_have_numbers(config) : tokens || task != config::Task::kLanguage;
  if (fits) return;
  const auto* what = task == config::Task::kLanguage ? "no text" : "no numbers as targets";
  throw base::Error(base::ExitCode::kConfig, fmt::format("task: {} does not fit data of kind {}, which has {}",
                                                         base::name_of(task), base::name_of(config.kind), what));
}

// What `read` returns; where memory runs out the error says what was read.
template <class Read>
auto naming_lack_of_memory(const std::string& name, Read read) {
  try {
    return read();
  } catch (const base::Error&) {
    throw;
  } catch (const std::exception& error) {
    const auto lack = device::out_of_memory_message(error);
    if (lack.empty()) throw;
    throw base::Error(base::ExitCode::kResources,
                      name + ": not enough memory (" + lack + "); use a smaller file, or give the process more memory");
  }
}

Dataset other_samples(const DataConfig& config, const Preprocessing& like, const ReadOptions& options) {
  auto raw = read_test_samples(config, like.table, options);
  align_features(like.feature_names, raw, config.test_path);
  require_same_target(like.target_name, raw, config.test_path);
  // Of another size they keep their own shape, which require_same_kind refuses.
  if (checked_product(config.shape) == elements_of(raw.sizes)) reshape(raw, config.shape);
  RawSamples training;
  training.class_names = like.class_names;
  if (!like.class_names.empty() && !raw.class_names.empty()) align_classes(training, raw, config.test_path);
  if (!raw.numbers.empty() && raw.target_sizes != std::vector{like.shape.num_classes}) {
    fail_input(config.test_path, "",
               fmt::format("a sample has {} targets, the network has {} outputs", raw.target_sizes.at(0),
                           like.shape.num_classes));
  }
  require_known_classes(raw, std::vector<bool>(static_cast<std::size_t>(like.shape.num_classes), true),
                        config.test_path, config);
  return thinned(to_dataset(std::move(raw), like.shape.num_classes), config, options);
}

// The network takes these samples, and its normaliser is one of theirs.
void require_same_kind(const Dataset& set, const Preprocessing& like, const std::string& path) {
  if (set.shape != like.shape) {
    fail_input(path, "",
               fmt::format("samples of shape [{}]; the run was trained on [{}]", base::joined(set.shape.sizes()),
                           base::joined(like.shape.sizes())));
  }
  if (set.shape.kind == leyline::SampleKind::kTokens) return;
  const bool pixels = set.inputs.scalar_type() == torch::kUInt8, expected = like.element == Element::kPixel;
  if (pixels == expected) return;
  fail_input(path, "",
             pixels ? "holds pixels (uint8); the run was trained on numbers"
                    : "holds numbers; the run was trained on pixels (uint8)");
}

}  // namespace

std::string description_of(const Dataset& dataset) {
  return dataset.process ? base::to_json(dataset.process->layout()).dump() : "";
}

std::int64_t num_samples(const Dataset& dataset) {
  if (dataset.process) return dataset.process->layout().samples;
  return dataset.shape.kind == leyline::SampleKind::kTokens ? dataset.windows.size(0) : dataset.targets.size(0);
}

Splits load_dataset(const DataConfig& config, TestPart test, config::Task task) {
  require_targets(config, task);
  if (config.kind == DataKind::kProcess) return split_process(config, task);
  const bool needs_path = config.kind != DataKind::kDigits && config.kind != DataKind::kSynthetic;
  if (needs_path && config.path.empty()) fail_config("path", "is missing; this kind of data needs a file or folder");
  const bool has_files_of_images = config.kind == DataKind::kImages || config.kind == DataKind::kWebdataset;
  if (config.image_size > 0 && !has_files_of_images) {
    fail_config("image_size", "applies to kinds images and webdataset only");
  }
  require_places(config);
  const ReadOptions options{.bad_sample = config.bad_sample, .task = task};
  return naming_lack_of_memory(name_of_data(config), [&] {
    if (config.kind == DataKind::kText) return split_text(config, test, options);
    if (config.kind == DataKind::kTokens) return split_tokens(config, test, options);
    return split_samples(config, test, options);
  });
}

Dataset load_other(const DataConfig& config, const Preprocessing& like) {
  if (config.kind == DataKind::kProcess) fail_config("test_path", "does not apply to data of kind process");
  std::error_code unknown;
  if (!std::filesystem::exists(config.test_path, unknown)) throw MissingData(config.test_path, "test_path");
  const ReadOptions options{.bad_sample = config.bad_sample, .task = like.task};
  auto set = naming_lack_of_memory(config.test_path, [&] {
    if (config.kind == DataKind::kText) return load_other_text(config, like.class_names, options);
    if (config.kind == DataKind::kTokens) return load_other_tokens(config, like.shape.num_classes);
    return other_samples(config, like, options);
  });
  require_same_kind(set, like, config.test_path);
  return set;
}

}  // namespace esper::data
