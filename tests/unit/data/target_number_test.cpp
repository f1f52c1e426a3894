// Targets that are not one class a sample: of csv and npy files, through load_dataset().

#include "data/files/target_number.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "data/dataset.h"
#include "unit/data/test_files.h"

namespace esper::data::test::target_number_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::DataConfig;
using config::DataKind;
using config::Task;

struct Arrays {
  Bytes x, y;
};

const Bytes kFourRows = npy("<f4", "(4, 2)", raw<float>({1, 2, 3, 4, 5, 6, 7, 8}));

// Half of the samples validate, so that few are enough.
DataConfig config_of(DataKind kind, const std::filesystem::path& path) {
  DataConfig config;
  config.kind = kind;
  config.path = path;
  config.validation_fraction = 0.5;
  return config;
}

Splits load(const Arrays& arrays, Task task) {
  const TempFolder folder;
  write_file(folder / "x.npy", arrays.x);
  write_file(folder / "y.npy", arrays.y);
  return load_dataset(config_of(DataKind::kNpy, folder.path()), TestPart::kUnread, task);
}

Splits load_csv(const std::string& text, Task task) {
  const TempFolder folder;
  write_file(folder / "a.csv", text);
  return load_dataset(config_of(DataKind::kCsv, folder / "a.csv"), TestPart::kUnread, task);
}

template <class Load>
std::string complaint(Load load, base::ExitCode code = base::ExitCode::kData) {
  const auto error = error_of(load);
  CHECK(error.code() == code);
  return error.what();
}

// Each target beside its sample: the sum of the sample's numbers.
void check_sums(const Dataset& set) {
  CHECK(set.targets.scalar_type() == torch::kFloat32);
  CHECK(torch::equal(set.inputs.sum(1, /*keepdim=*/true), set.targets.narrow(1, 0, 1)));
}

TEST_CASE("a target is finite, and 0 or 1 where it says whether a label applies") {
  CHECK(target_problem(-3.5, Task::kRegression).empty());
  CHECK_THAT(target_problem(NAN, Task::kRegression), ContainsSubstring("not a finite number"));
  CHECK_THAT(target_problem(1e300, Task::kRegression), ContainsSubstring("not a finite number"));
  CHECK(target_problem(1, Task::kMultilabel).empty());
  CHECK_THAT(target_problem(0.5, Task::kMultilabel), ContainsSubstring("must be 0 or 1"));
}

TEST_CASE("csv: the last column of a regression is a number") {
  const auto splits = load_csv("a,b,sum\n1,2,3\n0.5,0.25,0.75\n-1,1,0\n2,2,4\n", Task::kRegression);
  CHECK(splits.train.targets.sizes() == std::vector<std::int64_t>{2, 1});
  CHECK(splits.train.shape == leyline::features_shape(2, 1));
  CHECK(splits.train.class_names.empty());
  for (const auto* part : {&splits.train, &splits.validation}) check_sums(*part);
  CHECK_THAT(complaint([] { load_csv("1,2,3\n1,2,inf\n", Task::kRegression); }),
             ContainsSubstring("a.csv: line 2, field 3: the target is not a finite number, found \"inf\""));
  CHECK_THAT(complaint([] { load_csv("1,2,3\n1,2,cat\n", Task::kRegression); }),
             ContainsSubstring("line 2, field 3: expected a number as the target, found \"cat\""));
  CHECK_THAT(complaint([] { load_csv("1,2,1\n1,2,2\n", Task::kMultilabel); }),
             ContainsSubstring("line 2, field 3: a target of task multilabel must be 0 or 1, found \"2\""));
}

TEST_CASE("npy: numbers as targets, one or several a sample") {
  const auto one = load({kFourRows, npy("<f8", "(4,)", raw<double>({3, 7, 11, 15}))}, Task::kRegression);
  check_sums(one.train);
  check_sums(one.validation);
  const auto two =
      load({kFourRows, npy("<f4", "(4, 2)", raw<float>({3, .5f, 7, 1.5f, 11, 2.5f, 15, 3.5f}))}, Task::kRegression);
  CHECK(two.train.shape == leyline::features_shape(2, 2));
  check_sums(two.train);
  const auto labels = load({kFourRows, npy("|u1", "(4, 3)", {0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1})}, Task::kMultilabel);
  CHECK(labels.train.shape == leyline::features_shape(2, 3));
  CHECK(labels.train.targets.scalar_type() == torch::kFloat32);
  CHECK((labels.train.targets.sum() + labels.validation.targets.sum()).item<float>() == 6);
}

TEST_CASE("npy: targets that are none are bad samples, named by their number") {
  CHECK_THAT(complaint([] { load({kFourRows, npy("<f4", "(4,)", raw<float>({1, 2, NAN, 4}))}, Task::kRegression); }),
             ContainsSubstring("y.npy: sample 2: the target is not a finite number"));
  CHECK_THAT(
      complaint([] { load({kFourRows, npy("<i8", "(4,)", raw<std::int64_t>({1, 0, 1, 2}))}, Task::kMultilabel); }),
      ContainsSubstring("y.npy: sample 3: a target of task multilabel must be 0 or 1"));
  CHECK_THAT(complaint([] { load({kFourRows, npy("<f4", "(4, 1, 1)", raw<float>({1, 2, 3, 4}))}, Task::kRegression); }),
             ContainsSubstring("expected the numbers of each sample"));
  const TempFolder folder;
  write_file(folder / "x.npy", kFourRows);
  write_file(folder / "y.npy", npy("<f4", "(4,)", raw<float>({3, NAN, 11, 15})));
  auto config = config_of(DataKind::kNpy, folder.path());
  config.bad_sample = config::BadSample::kSkip;
  const auto splits = load_dataset(config, TestPart::kUnread, Task::kRegression);
  CHECK(splits.skipped == 1);
  CHECK(num_samples(splits.train) + num_samples(splits.validation) == 3);
  check_sums(splits.train);
  check_sums(splits.validation);
}

TEST_CASE("npy: a class for each pixel") {
  const auto x = npy("|u1", "(2, 2, 3)", {0, 1, 2, 0, 1, 2, 2, 1, 0, 2, 1, 0});
  const auto y = npy("|u1", "(2, 2, 3)", {0, 1, 2, 0, 1, 2, 2, 1, 0, 2, 1, 0});
  const auto splits = load({x, y}, Task::kClassification);
  CHECK(splits.train.shape == leyline::image_shape(1, 2, 3, 3));
  CHECK(splits.train.targets.scalar_type() == torch::kInt64);
  CHECK(torch::equal(splits.train.targets, splits.train.inputs.select(1, 0).to(torch::kInt64)));
  CHECK_THAT(complaint([&] { load({x, npy("|u1", "(2, 3, 2)", Bytes(12))}, Task::kClassification); }),
             ContainsSubstring("a class for each of 3 x 2 pixels does not fit images of 2 x 3"));
  CHECK_THAT(complaint([&] {
               load({x, npy("|i1", "(2, 2, 3)", Bytes{0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0})}, Task::kClassification);
             }),
             ContainsSubstring("y.npy: sample 1: the class must be a whole number"));
}

TEST_CASE("a task that the format has no targets for is refused") {
  auto config = config_of(DataKind::kSynthetic, {});
  for (const auto task : {Task::kRegression, Task::kMultilabel}) {
    CHECK_THAT(complaint([&] { load_dataset(config, TestPart::kUnread, task); }, base::ExitCode::kConfig),
               ContainsSubstring("does not fit data of kind synthetic, which has no numbers as targets"));
  }
  CHECK_THAT(complaint([&] { load_dataset(config, TestPart::kUnread, Task::kLanguage); }, base::ExitCode::kConfig),
             ContainsSubstring("task: language does not fit data of kind synthetic, which has no text"));
}

}  // namespace
}  // namespace esper::data::test::target_number_test
