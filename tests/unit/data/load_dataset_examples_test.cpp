// The example files that docs/data.md shows.

#include <fmt/core.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "data/dataset.h"
#include "unit/data/test_files.h"

namespace esper::data::test::load_dataset_examples_test {
namespace {

using config::DataConfig;
using config::DataKind;
using config::MissingValue;
using config::Task;
using leyline::features_shape;
using leyline::image_shape;

const std::string kFolder = ESPER_SOURCE_DIR "/data/examples/";

struct Example {
  DataKind kind;
  std::string path;  // below data/examples
  leyline::SampleShape shape;
  std::int64_t samples;  // training and validation
  Task task = Task::kClassification;
  config::ColumnsConfig columns = {};
  std::string labels = "", vocabulary = "";
};

config::ColumnsConfig targets(std::vector<std::string> names) {
  config::ColumnsConfig columns;
  columns.target = std::move(names);
  return columns;
}

DataConfig config_of(const Example& example) {
  DataConfig config;
  config.kind = example.kind;
  config.path = kFolder + example.path;
  config.columns = example.columns;
  config.context = 8;
  if (!example.labels.empty()) config.labels = kFolder + example.labels;
  if (!example.vocabulary.empty()) config.vocabulary = kFolder + example.vocabulary;
  return config;
}

void check_example(const Example& example) {
  CAPTURE(example.path);
  const auto splits = load_dataset(config_of(example), TestPart::kUnread, example.task);
  CHECK(splits.train.shape == example.shape);
  CHECK(num_samples(splits.train) + num_samples(splits.validation) == example.samples);
  CHECK(splits.skipped == 0);
}

TEST_CASE("the examples of each kind of data are read") {
  using K = DataKind;
  const config::ColumnsConfig houses{
      .target = {"kind"}, .features = {}, .categorical = {"city"}, .missing = MissingValue::kMean};
  auto prices = houses;
  prices.target = {"price"};
  prices.features = {"area", "city", "rooms"};
  auto extras = houses;
  extras.target = {"garden", "lift"};
  extras.features = {"area", "rooms"};
  extras.categorical = {};
  check_example(
      GENERATE_COPY(Example{K::kCsv, "csv/animals.csv", features_shape(2, 2), 12},
                    Example{K::kCsv, "csv/prices.csv", features_shape(2, 1), 10, Task::kRegression},
                    Example{K::kTable, "table/houses.csv", features_shape(8, 2), 12, Task::kClassification, houses},
                    Example{K::kTable, "table/houses.csv", features_shape(5, 1), 12, Task::kRegression, prices},
                    Example{K::kTable, "table/houses.csv", features_shape(2, 2), 12, Task::kMultilabel, extras},
                    Example{K::kMnist, "mnist", image_shape(1, 4, 4, 2), 10},
                    Example{K::kCifar10, "cifar10", image_shape(3, 32, 32, 10), 12},
                    Example{K::kImages, "images", image_shape(3, 8, 8, 2), 6},
                    Example{K::kImages, "images_labelled/pictures", image_shape(3, 8, 8, 2), 6, Task::kClassification,
                            targets({"colour"}), "images_labelled/labels.csv"},
                    Example{K::kImages, "images_labelled/pictures", image_shape(3, 8, 8, 2), 6, Task::kMultilabel,
                            targets({"bright", "warm"}), "images_labelled/labels.csv"},
                    Example{K::kNpy, "npy/classes.npz", features_shape(3, 2), 8},
                    Example{K::kNpy, "npy/numbers.npz", features_shape(3, 2), 8, Task::kRegression},
                    Example{K::kNpy, "npy/pixels.npz", image_shape(1, 4, 4, 2), 6},
                    Example{K::kText, "text/verse.txt", leyline::tokens_shape(8, 17), 32, Task::kLanguage},
                    Example{K::kTokens,
                            "tokens/train.bin",
                            leyline::tokens_shape(8, 6),
                            13,
                            Task::kLanguage,
                            {},
                            "",
                            "tokens/vocabulary.json"},
                    Example{K::kWebdataset, "webdataset", image_shape(3, 8, 8, 2), 2},
                    Example{K::kWebdataset, "webdataset/000.tar", image_shape(3, 8, 8, 1), 2, Task::kRegression,
                            targets({"bright"})}));
}

// Both need a Python with pyarrow, which scripts/bootstrap --tables installs.
TEST_CASE("the examples that Python reads are read, or the way out is named") {
  auto columns = targets({"kind"});
  columns.categorical = {"city"};
  const auto example = GENERATE_COPY(
      Example{DataKind::kParquet, "parquet/houses.parquet", features_shape(4, 2), 8, Task::kClassification, columns},
      Example{DataKind::kDatasets, "datasets/houses", features_shape(4, 2), 8, Task::kClassification, columns});
  if (std::filesystem::exists(ESPER_SOURCE_DIR "/.esper/tables/pyarrow")) {
    check_example(example);
    return;
  }
  const auto error = error_of([&] { load_dataset(config_of(example), TestPart::kUnread, example.task); });
  CHECK(error.code() == base::ExitCode::kData);
  CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("scripts/bootstrap --tables"));
}

}  // namespace
}  // namespace esper::data::test::load_dataset_examples_test
