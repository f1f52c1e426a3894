#include "data/readers/sample_parts.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/text/joined.h"
#include "data/readers/cifar10_reader.h"
#include "data/readers/csv_reader.h"
#include "data/readers/digits.h"
#include "data/readers/idx_reader.h"
#include "data/readers/image_folder.h"
#include "data/readers/npy_reader.h"
#include "data/readers/synthetic.h"
#include "data/readers/table_reader.h"
#include "data/readers/webdataset_reader.h"

namespace esper::data {

using config::DataConfig;
using config::DataKind;

bool splits_itself(DataKind kind) {
  return kind == DataKind::kImages || kind == DataKind::kTable || kind == DataKind::kParquet ||
         kind == DataKind::kDatasets;
}

namespace {

RawParts read_file(const DataConfig& config, const std::string& path, Parts wanted, const ReadOptions& options,
                   BadSamples& bad) {
  // Of formats without a test part.
  const auto single_part = [wanted](auto read) {
    return wanted == Parts::kTest ? RawParts{} : RawParts{.train = read()};
  };
  switch (config.kind) {
    case DataKind::kDigits:
      return single_part([&] { return read_csv(path.empty() ? find_digits().string() : path, options, bad); });
    case DataKind::kCsv:
      return single_part([&] { return read_csv(path, options, bad); });
    case DataKind::kSynthetic:
      return single_part([&] { return make_synthetic(config.synthetic, config.split_seed, options); });
    case DataKind::kMnist:
      return read_idx(path, options, wanted);
    case DataKind::kCifar10:
      return read_cifar10(path, options, bad, wanted);
    case DataKind::kNpy:
      return read_npy(path, options, bad, wanted);
    case DataKind::kWebdataset:
      return single_part([&] { return read_webdataset(path, config, options, bad); });
    case DataKind::kImages:
    case DataKind::kText:
    case DataKind::kTable:
    case DataKind::kParquet:
    case DataKind::kDatasets:
    case DataKind::kTokens:
    case DataKind::kProcess:
      break;
  }
  ESPER_CHECK(false, "not a kind of samples in one file");
}

// Data that bring a test part along are tested on that alone; of the others all samples test.
RawSamples read_test_path(const DataConfig& config, const ReadOptions& options, BadSamples& bad) {
  auto parts = read_file(config, config.test_path, Parts::kTest, options, bad);
  if (parts.test) return std::move(*parts.test);
  if (same_place(config.test_path, config.path) || same_place(config.test_path, config.validation_path)) {
    fail_config("test_path", config.test_path + " holds no test part besides the data that the run trains on");
  }
  return read_file(config, config.test_path, Parts::kTraining, options, bad).train;
}

RawParts read_named(const DataConfig& config, TestPart test, const ReadOptions& options, BadSamples& bad) {
  if (config.kind == DataKind::kImages) return read_image_folder(config, options, bad, test);
  if (splits_itself(config.kind)) return read_table(config, options, bad, test);
  const bool own_test_validates = config.validation_path.empty() && config.test_path.empty();
  const auto wanted = own_test_validates ? Parts::kAll : Parts::kTraining;
  auto parts = read_file(config, config.path, wanted, options, bad);
  parts.validation = std::exchange(parts.test, std::nullopt);
  if (!config.validation_path.empty()) {
    parts.validation = read_file(config, config.validation_path, Parts::kTraining, options, bad).train;
  }
  if (test == TestPart::kRead && !config.test_path.empty()) parts.test = read_test_path(config, options, bad);
  return parts;
}

// Of a part beside the training part. `name`: validation or test.
void fit_to_training(RawSamples& part, const RawSamples& train, const std::string& name, const std::string& path,
                     const DataConfig& config) {
  const std::string place = path.empty() ? name_of_data(config) : path;
  const bool has_samples = samples_in(part) > 0;
  align_features(train.feature_names, part, place);  // first: names say more than sizes and classes
  require_same_target(train.target_name, part, place);
  if (has_samples && part.sizes != train.sizes) {
    fail_input(place, "",
               fmt::format("{} samples and training samples differ in shape: [{}] and [{}]", name,
                           base::joined(part.sizes), base::joined(train.sizes)));
  }
  if (has_samples && part.target_sizes != train.target_sizes) {
    fail_input(place, "", fmt::format("{} targets and training targets differ in shape", name));
  }
  align_classes(train, part, place);
  reshape(part, config.shape);
  if (!has_samples) fail_input(place, "", fmt::format("no {} samples left", name));
}

RawSamples read_test_alone(const DataConfig& config, const TableEncoding& table, const ReadOptions& options,
                           BadSamples& bad) {
  if (config.kind == DataKind::kImages) return read_image_test(config, options, bad);
  if (splits_itself(config.kind)) return read_known_table(config.kind, test_table(config), table, options, bad);
  return read_test_path(config, options, bad);
}

}  // namespace

std::string name_of_data(const DataConfig& config) { return config.path.empty() ? "the data" : config.path; }

RawParts read_samples(const DataConfig& config, TestPart test, const ReadOptions& options) {
  BadSamples bad(config.bad_sample);
  auto parts = read_named(config, test, options, bad);
  if (parts.validation) {
    fit_to_training(*parts.validation, parts.train, "validation", config.validation_path, config);
  }
  if (parts.test) fit_to_training(*parts.test, parts.train, "test", config.test_path, config);
  if (samples_in(parts.train) == 0) fail_input(name_of_data(config), "", "no samples left");
  reshape(parts.train, config.shape);
  parts.skipped = bad.skipped();
  parts.first_skipped = bad.first();
  return parts;
}

RawSamples read_test_samples(const DataConfig& config, const TableEncoding& table, const ReadOptions& options) {
  BadSamples bad(config.bad_sample);
  auto samples = read_test_alone(config, table, options, bad);
  if (samples_in(samples) == 0) fail_input(config.test_path, "", "no samples left");
  return samples;
}

}  // namespace esper::data
