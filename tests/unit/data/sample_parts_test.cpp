#include "data/readers/sample_parts.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "data/dataset.h"
#include "data/new_samples.h"
#include "data/preprocessing.h"
#include "unit/data/test_files.h"

namespace esper::data::test::sample_parts_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::DataConfig;
using config::DataKind;
namespace fs = std::filesystem;
using Labels = std::vector<std::int64_t>;

DataConfig config_of(DataKind kind, const fs::path& path = {}) {
  DataConfig config;
  config.kind = kind;
  config.path = path;
  return config;
}

Labels labels_of(const Dataset& set) {
  return {set.targets.const_data_ptr<std::int64_t>(), set.targets.const_data_ptr<std::int64_t>() + num_samples(set)};
}

std::string complaint(const DataConfig& config, base::ExitCode code = base::ExitCode::kData) {
  const auto error = error_of([&] { load_dataset(config, TestPart::kRead); });
  CHECK(error.code() == code);
  return error.what();
}

bool same_training(const Splits& a, const Splits& b) {
  return torch::equal(a.train.inputs, b.train.inputs) && torch::equal(a.validation.inputs, b.validation.inputs) &&
         a.standardization == b.standardization;
}

TEST_CASE("three parts of the digits: the test part comes out of the training part") {
  auto config = config_of(DataKind::kDigits);
  const auto two = load_dataset(config);
  config.test_fraction = 0.2;
  const auto splits = load_dataset(config, TestPart::kRead);
  CHECK(num_samples(splits.train) == 1079);
  CHECK(torch::equal(splits.validation.inputs, two.validation.inputs));
  REQUIRE(splits.test);
  CHECK(num_samples(*splits.test) == 359);
  const auto sum = splits.train.inputs.sum() + splits.validation.inputs.sum() + splits.test->inputs.sum();
  CHECK(sum.item<double>() == 561718);
  CHECK(splits.standardization == measure(splits.train.inputs, splits.train.shape));
  const auto trained = load_dataset(config);
  CHECK(!trained.test);
  CHECK(same_training(trained, splits));
  config.max_samples = 100;
  CHECK(num_samples(*load_dataset(config, TestPart::kRead).test) == 100);
}

TEST_CASE("a test part is split off beside validation data of their own") {
  const TempFolder folder;
  write_file(folder / "train.csv", "1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n7,0\n8,1\n9,0\n10,1\n");
  write_file(folder / "validation.csv", "4,1\n5,0\n");
  auto config = config_of(DataKind::kCsv, folder / "train.csv");
  config.validation_path = folder / "validation.csv";
  config.test_fraction = 0.3;
  const auto splits = load_dataset(config, TestPart::kRead);
  CHECK(num_samples(splits.train) == 7);
  CHECK(num_samples(splits.validation) == 2);
  CHECK(num_samples(*splits.test) == 3);
}

TEST_CASE("a test file is not opened to train, and its classes are those of training") {
  const TempFolder folder;
  write_file(folder / "train.csv", "1,ant\n2,bee\n3,cat\n4,cat\n");
  write_file(folder / "test.csv", "no samples at all");
  auto config = config_of(DataKind::kCsv, folder / "train.csv");
  const auto without = load_dataset(config);
  config.test_path = folder / "test.csv";
  const auto trained = load_dataset(config);
  CHECK(!trained.test);
  CHECK(same_training(trained, without));
  CHECK_THAT(complaint(config), ContainsSubstring("test.csv"));
  write_file(folder / "test.csv", "4,cat\n5,bee\n");
  const auto splits = load_dataset(config, TestPart::kRead);
  CHECK(same_training(splits, without));
  CHECK(labels_of(*splits.test) == Labels{2, 1});
  CHECK(splits.test->shape == splits.train.shape);
  write_file(folder / "test.csv", "4,dog\n5,bee\n");
  CHECK_THAT(complaint(config), ContainsSubstring("class \"dog\" does not occur in the training data"));
  write_file(folder / "test.csv", "4,5,bee\n");
  CHECK_THAT(complaint(config), ContainsSubstring("test samples and training samples differ in shape: [2] and [1]"));
}

TEST_CASE("columns of a validation or test file are matched by the names of its header") {
  const TempFolder folder;
  write_file(folder / "train.csv", "width,height,class\n1,20,ant\n2,10,bee\n");
  write_file(folder / "other.csv", "height,width,class\n10,2,bee\n20,1,ant\n");
  write_file(folder / "plain.csv", "2,10,bee\n1,20,ant\n");
  auto config = config_of(DataKind::kCsv, folder / "train.csv");
  config.validation_path = folder / "other.csv";
  config.test_path = folder / "plain.csv";
  const auto splits = load_dataset(config, TestPart::kRead);
  const auto expected = torch::tensor({{2.F, 10.F}, {1.F, 20.F}});
  CHECK(torch::equal(splits.validation.inputs, expected));
  CHECK(splits.validation.feature_names == splits.train.feature_names);
  CHECK(torch::equal(splits.test->inputs, expected));
  write_file(folder / "other.csv", "height,depth,class\n10,2,bee\n");
  CHECK_THAT(complaint(config), ContainsSubstring("other.csv: column \"width\" of the training data is not there"));
  write_file(folder / "other.csv", "class,height,width\n7,10,2\n");
  CHECK_THAT(complaint(config),
             ContainsSubstring("\"width\" of the training data is not there before the last one, which is the target"));
  write_file(folder / "other.csv", "width,height,depth,class\n2,10,3,bee\n");
  CHECK_THAT(complaint(config), ContainsSubstring("other.csv: the training data have no column \"depth\""));
  write_file(folder / "other.csv", "height,width,kind\n10,2,bee\n");
  CHECK_THAT(
      complaint(config),
      ContainsSubstring("other.csv: the last column, which is the target, is \"kind\"; that of the training data "
                        "is \"class\"; if they are the same, give them one name in both headers"));
  std::swap(config.validation_path, config.test_path);
  CHECK_THAT(complaint(config), ContainsSubstring("other.csv: the last column, which is the target, is \"kind\""));
}

TEST_CASE("columns are matched by their names where data.shape makes images of them, in data of later commands, too") {
  const TempFolder folder;
  write_file(folder / "train.csv", "a,b,c,d,class\n1,2,3,4,ant\n5,6,7,8,bee\n9,10,11,12,bee\n");
  write_file(folder / "other.csv", "d,c,b,a,class\n4,3,2,1,ant\n");
  write_file(folder / "new.csv", "d,c,b,a\n4,3,2,1\n");
  auto config = config_of(DataKind::kCsv, folder / "train.csv");
  config.shape = {1, 2, 2};
  const auto like = preprocessing_of(config, config::Task::kClassification, load_dataset(config));
  const auto expected = torch::tensor({1.F, 2.F, 3.F, 4.F}).view({1, 1, 2, 2});
  config.test_path = folder / "other.csv";
  CHECK(torch::equal(load_other(config, like).inputs, expected));
  NewSampleFiles files({folder / "new.csv"}, like);
  CHECK(torch::equal(files.next()->set.inputs, expected));
  write_file(folder / "other.csv", "d,c,b,a,e,class\n4,3,2,1,0,ant\n");
  CHECK_THAT(error_of([&] { load_other(config, like); }).what(),
             ContainsSubstring("the training data have no column \"e\""));
  write_file(folder / "other.csv", "d,c,b,a,kind\n4,3,2,1,ant\n");
  CHECK_THAT(
      error_of([&] { load_other(config, like); }).what(),
      ContainsSubstring("other.csv: the last column, which is the target, is \"kind\"; that of the training data "
                        "is \"class\""));
  write_file(folder / "other.csv", "1,2,3,bee\n");
  const auto error = error_of([&] { load_other(config, like); });
  CHECK(error.code() == base::ExitCode::kData);
  CHECK_THAT(error.what(), ContainsSubstring("other.csv: samples of shape [3]; the run was trained on [1, 2, 2]"));
}

TEST_CASE("a data set's own test part validates until the run names it") {
  const TempFolder folder;
  const auto images = idx({4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  write_file(folder / "train-images-idx3-ubyte", images);
  write_file(folder / "train-labels-idx1-ubyte", idx({4}, {0, 1, 2, 0}));
  write_file(folder / "t10k-images-idx3-ubyte", images);
  write_file(folder / "t10k-labels-idx1-ubyte", idx({4}, {2, 2, 1, 0}));
  auto config = config_of(DataKind::kMnist, folder.path());
  CHECK(labels_of(load_dataset(config).validation) == Labels{2, 2, 1, 0});
  for (const auto& named : {folder.path(), folder / "t10k-images-idx3-ubyte"}) {
    config.test_path = named;
    const auto splits = load_dataset(config, TestPart::kRead);
    CHECK(num_samples(splits.train) == 3);
    CHECK(num_samples(splits.validation) == 1);
    CHECK(labels_of(*splits.test) == Labels{2, 2, 1, 0});
  }
  write_file(folder / "t10k-labels-idx1-ubyte", idx({4}, {2, 7, 1, 0}));
  CHECK_THAT(complaint(config), ContainsSubstring("class 7 does not occur in the training data"));
  write_file(folder / "t10k-images-idx3-ubyte", "damaged");
  CHECK(num_samples(load_dataset(config).train) == 3);
}

TEST_CASE("an archive that trains is tested on only where it holds a test part") {
  const TempFolder folder;
  const auto x = npy("<f4", "(4, 1)", raw<float>({1, 2, 3, 4}));
  const auto y = npy("|u1", "(4,)", {0, 1, 0, 1});
  const auto file = folder / "a.npz";
  auto config = config_of(DataKind::kNpy, file);
  config.test_path = file;
  write_file(file, zip({{"x.npy", x}, {"y.npy", y}}, Packing::kStored));
  CHECK_THAT(complaint(config, base::ExitCode::kConfig), ContainsSubstring("holds no test part besides"));
  write_file(file,
             zip({{"x_train.npy", x}, {"y_train.npy", y}, {"x_test.npy", x}, {"y_test.npy", y}}, Packing::kStored));
  const auto splits = load_dataset(config, TestPart::kRead);
  CHECK(num_samples(splits.train) == 3);
  CHECK(num_samples(*splits.test) == 4);
}

}  // namespace
}  // namespace esper::data::test::sample_parts_test
