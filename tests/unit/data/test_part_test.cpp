#include "data/readers/test_part.h"

#include <fmt/core.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "data/files/input_error.h"
#include "unit/data/test_files.h"

namespace esper::data::test::test_part_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::DataConfig;
using config::DataKind;
namespace fs = std::filesystem;

DataConfig config_of(DataKind kind, const fs::path& path, const fs::path& test_path) {
  DataConfig config;
  config.kind = kind;
  config.path = path;
  config.test_path = test_path;
  return config;
}

std::string refusal(const DataConfig& config) {
  const auto error = error_of([&] { require_places(config); });
  CHECK(error.code() == base::ExitCode::kConfig);
  return error.what();
}

TEST_CASE("test data must exist, whatever they hold") {
  const TempFolder folder;
  write_file(folder / "train.csv", "1,ant\n");
  auto config = config_of(DataKind::kCsv, folder / "train.csv", folder / "none");
  try {
    require_places(config);
    FAIL("nothing was thrown");
  } catch (const MissingData& error) {
    CHECK(error.key() == "test_path");
    CHECK_THAT(error.what(), ContainsSubstring("none: does not exist; data.test_path names it"));
  }
  write_file(folder / "none", "no samples");
  require_places(config);
}

TEST_CASE("test data that train or validate under another name are refused") {
  const TempFolder folder;
  write_file(folder / "train.csv", "1,ant\n");
  write_file(folder / "other.csv", "1,ant\n");
  fs::create_symlink(folder / "train.csv", folder / "link.csv");
  auto config = config_of(DataKind::kCsv, folder / "train.csv", folder / "link.csv");
  CHECK_THAT(refusal(config),
             ContainsSubstring("data.test_path: ") && ContainsSubstring("link.csv is also the training data; name "));
  config.path = folder / "other.csv";
  config.validation_path = folder / "train.csv";
  CHECK_THAT(refusal(config), ContainsSubstring("is also the validation data"));
}

TEST_CASE("validation data that train under another name are refused") {
  const TempFolder folder;
  write_file(folder / "train.csv", "1,ant\n");
  fs::create_symlink(folder / "train.csv", folder / "link.csv");
  auto config = config_of(DataKind::kCsv, folder / "train.csv", {});
  config.validation_path = folder / "link.csv";
  CHECK_THAT(refusal(config), ContainsSubstring("data.validation_path: ") &&
                                  ContainsSubstring("link.csv is also the training data; name other data, or remove it "
                                                    "and train with data.validation_fraction"));
  config.validation_path = config.path;
  CHECK_THAT(refusal(config), ContainsSubstring("train.csv is also the training data") &&
                                  ContainsSubstring("use a copy of the data: --set data.validation_path=COPY"));
  fs::copy_file(folder / "train.csv", folder / "copy.csv");
  config.validation_path = folder / "copy.csv";
  require_places(config);
  for (const auto* part : {"train", "validation"}) write_file(folder / fmt::format("set/{}/a/1.png", part), "");
  write_file(folder / "set/dataset_dict.json", "{}");
  for (const auto kind : {DataKind::kImages, DataKind::kDatasets}) {
    config = config_of(kind, folder / "set", {});
    config.validation_path = folder / "set/train";
    CHECK_THAT(refusal(config), ContainsSubstring("is also the training data"));
    config.validation_path = folder / "set/validation";
    require_places(config);
  }
  config.validation_path = config.path;  // its folder validation
  require_places(config);
}

TEST_CASE("a file of a folder that trains with all its files neither validates nor tests") {
  const TempFolder folder;
  for (const auto& [kind, ending] : {std::pair{DataKind::kParquet, "parquet"}, {DataKind::kWebdataset, "tar"}}) {
    const auto file = [&](const std::string& name) { return folder / fmt::format("{}.{}", name, ending); };
    for (const auto* name : {"parts/train", "parts/test", "elsewhere/other"}) write_file(file(name), "");
    fs::create_symlink(file("parts/test"), file("link"));
    auto config = config_of(kind, folder / "parts", file("link"));
    CHECK_THAT(refusal(config), ContainsSubstring("data.test_path: ") &&
                                    ContainsSubstring("is one of the files of the training data in ") &&
                                    ContainsSubstring("leave the key out and train with data.test_fraction"));
    config.test_path = file("elsewhere/other");
    require_places(config);
    config.validation_path = file("parts/test");
    CHECK_THAT(refusal(config), ContainsSubstring("data.validation_path: ") &&
                                    ContainsSubstring("is one of the files of the training data in "));
    config.validation_path = folder / "elsewhere";
    CHECK_THAT(refusal(config), ContainsSubstring("is one of the files of the validation data in "));
    config = config_of(kind, file("parts/train"), folder / "parts");
    CHECK_THAT(refusal(config), ContainsSubstring("of the training data is one of them; move it out of that folder"));
    config.test_path = file("parts/test");
    require_places(config);
    fs::remove(file("link"));
  }
}

TEST_CASE(
    "the training images of an IDX folder, and the parts of a saved data set, are not tested under another name") {
  const TempFolder folder;
  for (const auto* part : {"train", "t10k"}) write_file(folder / fmt::format("mnist/{}-images-idx3-ubyte", part), "");
  auto config = config_of(DataKind::kMnist, folder / "mnist", folder / "mnist/train-images-idx3-ubyte");
  CHECK_THAT(refusal(config), ContainsSubstring("train-images-idx3-ubyte is also the training data"));
  std::swap(config.test_path, config.validation_path);
  CHECK_THAT(refusal(config), ContainsSubstring("is also the training data"));
  config.validation_path = folder / "mnist/t10k-images-idx3-ubyte";
  require_places(config);
  config.test_path = folder / "mnist";
  CHECK_THAT(refusal(config), ContainsSubstring("is also the validation data"));

  for (const auto* part : {"train", "validation", "test"})
    write_file(folder / fmt::format("set/{}/state.json", part), "");
  write_file(folder / "set/dataset_dict.json", "{}");
  CHECK_THAT(refusal(config_of(DataKind::kDatasets, folder / "set", folder / "set/train")),
             ContainsSubstring("is also the training data"));
  CHECK_THAT(refusal(config_of(DataKind::kDatasets, folder / "set", folder / "set/validation")),
             ContainsSubstring("is also the validation data"));
  for (const auto* test : {"set", "set/test"})
    require_places(config_of(DataKind::kDatasets, folder / "set", folder / test));
}

TEST_CASE("data sets bring a test part of their own, which a path to them means") {
  const TempFolder folder;
  write_file(folder / "mnist/t10k-images-idx3-ubyte.gz", "");
  write_file(folder / "cifar/test_batch.bin", "");
  write_file(folder / "images/test/a/1.png", "");
  write_file(folder / "images/train/a/1.png", "");
  write_file(folder / "images/validation/a/1.png", "");
  write_file(folder / "npy/x_test.npy", "");
  CHECK(own_test_part(DataKind::kMnist, folder / "mnist") == folder / "mnist/t10k-images-idx3-ubyte.gz");
  CHECK(own_test_part(DataKind::kCifar10, folder / "cifar") == folder / "cifar/test_batch.bin");
  CHECK(own_test_part(DataKind::kImages, folder / "images") == folder / "images/test");
  CHECK(own_test_part(DataKind::kNpy, folder / "npy") == folder / "npy/x_test.npy");
  CHECK(!own_test_part(DataKind::kMnist, folder / "cifar"));
  require_places(config_of(DataKind::kMnist, folder / "mnist", folder / "mnist"));
  require_places(config_of(DataKind::kCifar10, folder / "cifar", folder / "cifar"));
  require_places(config_of(DataKind::kImages, folder / "images", folder / "images"));
  require_places(config_of(DataKind::kImages, folder / "images", folder / "images/test"));
  CHECK_THAT(refusal(config_of(DataKind::kImages, folder / "images", folder / "images/train")),
             ContainsSubstring("is also the training data"));
  CHECK_THAT(refusal(config_of(DataKind::kImages, folder / "images", folder / "images/validation")),
             ContainsSubstring("is also the validation data"));
  CHECK_THAT(refusal(config_of(DataKind::kCifar10, folder / "mnist", folder / "mnist")),
             ContainsSubstring("is also the training data"));
}

}  // namespace
}  // namespace esper::data::test::test_part_test
