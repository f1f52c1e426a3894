#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "data/cifar10_reader.h"
#include "data/csv_reader.h"
#include "data/dataset.h"
#include "data/digits.h"
#include "data/idx_reader.h"
#include "data/image_folder.h"
#include "data/memory_need.h"
#include "data/npy_reader.h"
#include "data/raw_samples.h"
#include "data/selection.h"
#include "data/synthetic.h"
#include "data/text_reader.h"
#include "device/out_of_memory.h"

namespace esper::data {
namespace {

using config::DataConfig;
using config::DataKind;

// Hands the vector's memory to a tensor without a copy.
template <class T>
torch::Tensor adopt(std::vector<T> values, std::vector<std::int64_t> sizes) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  return torch::from_blob(owner->data(), sizes, [owner](void*) {}, c10::CppTypeToScalarType<T>::value);
}

std::string describe(const DataConfig& config) { return config.path.empty() ? "the data" : config.path; }

RawParts read_file(const DataConfig& config, const std::string& path, const ReadOptions& options, BadSamples& bad) {
  switch (config.kind) {
    case DataKind::kDigits:
      return {read_csv(path.empty() ? find_digits() : std::filesystem::path(path), options, bad), std::nullopt, 0};
    case DataKind::kCsv:
      return {read_csv(path, options, bad), std::nullopt, 0};
    case DataKind::kMnist:
      return read_idx(path, options);
    case DataKind::kCifar10:
      return read_cifar10(path, options, bad);
    case DataKind::kNpy:
      return read_npy(path, options, bad);
    case DataKind::kImages:
      return read_image_folder(config, options, bad);
    case DataKind::kSynthetic:
      return {make_synthetic(config.synthetic, config.split_seed, options), std::nullopt, 0};
    case DataKind::kText:
      break;
  }
  ESPER_CHECK(false, "not a kind of samples");
}

RawParts read_all(const DataConfig& config, const ReadOptions& options) {
  BadSamples bad(config.bad_sample);
  auto parts = read_file(config, config.path, options, bad);
  if (!config.validation_path.empty() && config.kind != DataKind::kImages) {
    parts.validation = read_file(config, config.validation_path, options, bad).train;
  }
  if (parts.validation) {
    const auto& name = config.validation_path.empty() ? config.path : config.validation_path;
    if (!parts.validation->labels.empty() && parts.validation->sizes != parts.train.sizes) {
      fail_input(name, "", "validation samples and training samples differ in shape");
    }
    align_classes(parts.train, *parts.validation, name);
    reshape(*parts.validation, config.shape);
    if (parts.validation->labels.empty()) fail_input(name, "", "no validation samples left");
  }
  if (parts.train.labels.empty()) fail_input(describe(config), "", "no samples left");
  reshape(parts.train, config.shape);
  parts.skipped = bad.skipped();
  return parts;
}

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
  if (used < count) require_memory(describe(config), "data.max_samples samples", bytes_of(set) / count * used, options);
  return chosen(set, std::move(kept));
}

std::int64_t count_classes(const RawParts& parts) {
  auto most = static_cast<std::int64_t>(parts.train.class_names.size());
  for (const auto label : parts.train.labels) most = std::max(most, label + 1);
  if (parts.validation) {
    for (const auto label : parts.validation->labels) most = std::max(most, label + 1);
  }
  return most;
}

Splits split_samples(const DataConfig& config, const ReadOptions& options) {
  auto parts = read_all(config, options);
  const auto num_classes = count_classes(parts);
  Splits splits;
  splits.skipped = parts.skipped;
  splits.train = to_dataset(std::move(parts.train), num_classes);
  if (parts.validation) {
    splits.validation = to_dataset(std::move(*parts.validation), num_classes);
  } else {
    const auto count = num_samples(splits.train);
    if (count < 2) fail_input(describe(config), "", "holds one sample; a split into training and validation needs two");
    const auto indices = count * std::int64_t{sizeof(std::int64_t)};
    require_memory(describe(config), "the split into training and validation", bytes_of(splits.train) + 3 * indices,
                   options);
    auto split = split_indices(count, config.validation_fraction, config.split_seed);
    const auto all = std::move(splits.train);
    splits.train = chosen(all, std::move(split.train));
    splits.validation = chosen(all, std::move(split.validation));
  }
  for (auto* part : {&splits.train, &splits.validation}) *part = thinned(*part, config, options);
  if (config.standardize) splits.standardization = measure(splits.train.inputs, splits.train.shape);
  return splits;
}

// Tokens, and where windows begin: all of them, and those that are used.
std::int64_t token_bytes(std::size_t characters, const DataConfig& config) {
  const auto tokens = static_cast<std::int64_t>(characters);
  return (tokens + 2 * (tokens / config.context)) * std::int64_t{sizeof(std::int64_t)};
}

torch::Tensor tokens_of(std::u32string_view text, const std::u32string& vocabulary) {
  std::vector<std::int64_t> tokens;
  tokens.reserve(text.size());
  for (const auto character : text) {
    tokens.push_back(std::lower_bound(vocabulary.begin(), vocabulary.end(), character) - vocabulary.begin());
  }
  const auto count = static_cast<std::int64_t>(tokens.size());
  return adopt(std::move(tokens), {count});
}

// Windows of `context` characters side by side; each needs one character more as the last target.
Dataset to_windows(std::u32string_view text, const std::u32string& vocabulary, const DataConfig& config,
                   const std::string& file) {
  const std::int64_t count = (static_cast<std::int64_t>(text.size()) - 1) / config.context;
  if (text.empty() || count < 1) {
    fail_input(file, "",
               fmt::format("a part of {} characters is too short for data.context = {}", text.size(), config.context));
  }
  auto starts = evenly(count, config.max_samples);
  for (auto& start : starts) start *= config.context;
  Dataset set;
  set.inputs = tokens_of(text, vocabulary);
  const auto used = static_cast<std::int64_t>(starts.size());
  set.windows = adopt(std::move(starts), {used});
  set.shape = leyline::tokens_shape(config.context, static_cast<std::int64_t>(vocabulary.size()));
  for (const auto character : vocabulary) set.class_names.push_back(to_utf8(character));
  return set;
}

Splits split_text(const DataConfig& config, const ReadOptions& options) {
  if (!config.shape.empty()) fail_config("shape", "does not apply to text; data.context sets the length of a sample");
  BadSamples bad(config.bad_sample);
  auto text = read_text(config.path, options, bad);
  const bool own = !config.validation_path.empty();
  const auto more = own ? read_text(config.validation_path, options, bad) : std::u32string();
  const auto vocabulary = vocabulary_of({text, more});
  require_memory(config.path, "its tokens", token_bytes(text.size() + more.size(), config), options);
  std::u32string_view train = text, validation = more;
  if (!own) {
    if (text.size() < 2) fail_input(config.path, "", "is too short to be split");
    const auto tail =
        static_cast<std::size_t>(validation_count(static_cast<std::int64_t>(text.size()), config.validation_fraction));
    validation = train.substr(train.size() - tail);
    train = train.substr(0, train.size() - tail);
  }
  Splits splits;
  splits.train = to_windows(train, vocabulary, config, config.path);
  splits.validation = to_windows(validation, vocabulary, config, own ? config.validation_path : config.path);
  splits.skipped = bad.skipped();
  return splits;
}

void require_exists(const std::string& path, const char* key) {
  std::error_code unknown;
  if (path.empty() || std::filesystem::exists(path, unknown) || unknown) return;
  throw MissingData(path, key);
}

}  // namespace

std::int64_t num_samples(const Dataset& dataset) {
  return dataset.shape.kind == leyline::SampleKind::kTokens ? dataset.windows.size(0) : dataset.targets.size(0);
}

Splits load_dataset(const DataConfig& config) {
  const bool needs_path = config.kind != DataKind::kDigits && config.kind != DataKind::kSynthetic;
  if (needs_path && config.path.empty()) fail_config("path", "is missing; this kind of data needs a file or folder");
  if (config.image_size > 0 && config.kind != DataKind::kImages) {
    fail_config("image_size", "applies to kind images only");
  }
  require_exists(config.path, "path");
  require_exists(config.validation_path, "validation_path");
  const ReadOptions options{config.bad_sample, 0};
  try {
    return config.kind == DataKind::kText ? split_text(config, options) : split_samples(config, options);
  } catch (const base::Error&) {
    throw;
  } catch (const std::exception& error) {
    const auto lack = device::out_of_memory_message(error);
    if (lack.empty()) throw;
    throw base::Error(base::ExitCode::kResources, describe(config) + ": not enough memory (" + lack +
                                                      "); use a smaller file, or give the process more memory");
  }
}

}  // namespace esper::data
