#include <fmt/core.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>

#include "data/class_counts.h"
#include "data/dataset.h"
#include "data/order/random.h"
#include "data/readers/synthetic.h"
#include "unit/data/test_files.h"

namespace esper::data::test::load_dataset_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using config::DataConfig;
using config::DataKind;

// Over the bytes of labels and inputs, so that one number stands for a data set.
std::uint64_t digest(const torch::Tensor& tensor) {
  std::uint64_t hash = 0;
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.const_data_ptr());
  for (std::size_t i = 0; i < tensor.nbytes(); ++i) hash = mix64(hash ^ bytes[i]);
  return hash;
}

DataConfig config_of(DataKind kind, const std::filesystem::path& path = {}) {
  DataConfig config;
  config.kind = kind;
  config.path = path;
  return config;
}

std::string complaint(const DataConfig& config, base::ExitCode code = base::ExitCode::kData) {
  const auto error = error_of([&] { load_dataset(config); });
  CHECK(error.code() == code);
  return error.what();
}

TEST_CASE("digits load out of the box") {
  const auto splits = load_dataset(config_of(DataKind::kDigits));
  CHECK(splits.train.inputs.sizes() == std::vector<std::int64_t>{1438, 64});
  CHECK(splits.validation.inputs.sizes() == std::vector<std::int64_t>{359, 64});
  CHECK(splits.train.shape == leyline::features_shape(64, 10));
  CHECK(splits.train.class_names.at(9) == "9");
  CHECK(splits.train.inputs.max().item<float>() == 16);
  CHECK((splits.train.inputs.sum() + splits.validation.inputs.sum()).item<double>() == 561718);
}

TEST_CASE("the split is the same on every machine and moves with its seed") {
  constexpr std::uint64_t kPinned = 0x6487c58e2eb2e2cc;
  auto config = config_of(DataKind::kDigits);
  CHECK(digest(load_dataset(config).validation.targets) == kPinned);
  config.split_seed = 1;
  CHECK(digest(load_dataset(config).validation.targets) != kPinned);
}

TEST_CASE("data.shape makes pictures of features") {
  auto config = config_of(DataKind::kDigits);
  config.shape = {1, 8, 8};
  const auto splits = load_dataset(config);
  CHECK(splits.train.shape == leyline::image_shape(1, 8, 8, 10));
  CHECK(splits.train.inputs.sizes() == std::vector<std::int64_t>{1438, 1, 8, 8});
  CHECK(splits.standardization.mean.size() == 1);
  config.shape = {1, 8, 9};
  CHECK_THAT(complaint(config, base::ExitCode::kConfig),
             ContainsSubstring("data.shape: [1, 8, 9] does not fit samples of shape [64]"));
}

TEST_CASE("standardisation is measured on the training part alone, and a constant feature keeps its value") {
  const auto splits = load_dataset(config_of(DataKind::kDigits));
  const auto& inputs = splits.train.inputs;
  const auto mean = inputs.to(torch::kFloat64).mean(0),
             deviation = inputs.to(torch::kFloat64).std(0, /*unbiased=*/false);
  for (std::int64_t f = 0; f < 64; ++f) {
    const auto i = static_cast<std::size_t>(f);
    CHECK_THAT(splits.standardization.mean[i], WithinAbs(mean[f].item<double>(), 1e-6));
    const auto expected = deviation[f].item<double>();
    CHECK_THAT(splits.standardization.deviation[i], WithinAbs(expected > 0 ? expected : 1.0, 1e-6));
  }
  CHECK(splits.standardization.deviation[0] == 1);  // the upper left corner is always 0
  auto config = config_of(DataKind::kDigits);
  config.standardize = false;
  CHECK(load_dataset(config).standardization == Standardization{});
}

TEST_CASE("pixels are measured by channel, in units of 255") {
  const TempFolder folder;
  write_file(folder / "y.npy", npy("|u1", "(4,)", {0, 1, 0, 1}));
  write_file(folder / "x.npy", npy("|u1", "(4, 2, 1, 2)", {0, 255, 7, 7, 0, 255, 7, 7, 0, 255, 7, 7, 0, 255, 7, 7}));
  const auto splits = load_dataset(config_of(DataKind::kNpy, folder.path()));
  CHECK(splits.train.inputs.scalar_type() == torch::kUInt8);
  CHECK(splits.standardization.mean == std::vector<float>{0.5f, 7.f / 255.f});
  CHECK(splits.standardization.deviation == std::vector<float>{0.5f, 1.f});
}

TEST_CASE("targets of a regression are measured on the training part alone, and stay as they are in the data set") {
  const TempFolder folder;
  write_file(folder / "train.csv", "1,500000\n2,700000\n3,500000\n4,700000\n");
  write_file(folder / "validation.csv", "1,0\n2,1\n");
  auto config = config_of(DataKind::kCsv, folder / "train.csv");
  config.validation_path = folder / "validation.csv";
  const auto plain = load_dataset(config, TestPart::kUnread, config::Task::kRegression);
  CHECK(plain.standardization.target_mean.empty());
  config.standardize_targets = true;
  const auto splits = load_dataset(config, TestPart::kUnread, config::Task::kRegression);
  CHECK(splits.standardization.target_mean == std::vector{600000.f});
  CHECK(splits.standardization.target_deviation == std::vector{100000.f});
  CHECK(splits.standardization.mean == plain.standardization.mean);
  CHECK(splits.train.targets.equal(plain.train.targets));
  CHECK(splits.validation.targets.equal(plain.validation.targets));
}

TEST_CASE("standardised targets come back in their units, and a constant one is left unscaled") {
  Standardization s;
  measure_targets(torch::tensor({{0.1f, 1.f}, {0.1f, 5.f}}), s);
  CHECK(s.target_mean == std::vector{0.1f, 3.f});
  CHECK(s.target_deviation == std::vector{1.f, 2.f});
  const auto outputs = torch::tensor({{0.f, -1.f}, {2.f, 1.f}}), expected = torch::tensor({{0.1f, 1.f}, {2.1f, 5.f}});
  CHECK(in_target_units(s, outputs).allclose(expected));
  CHECK(in_target_units(s, outputs.view({2, 2, 1, 1})).allclose(expected.view({2, 2, 1, 1})));
  CHECK(in_target_units({}, outputs).equal(outputs));
}

TEST_CASE("max_samples thins each part evenly") {
  auto config = config_of(DataKind::kDigits);
  const auto all = load_dataset(config);
  config.max_samples = 100;
  const auto some = load_dataset(config);
  CHECK(num_samples(some.train) == 100);
  CHECK(num_samples(some.validation) == 100);
  CHECK(torch::equal(some.train.inputs[50], all.train.inputs[719]));
}

TEST_CASE("a path that names nothing says so, and which field gives it") {
  const TempFolder folder;
  write_file(folder / "train.csv", "1,ant\n2,bee\n");
  for (const auto kind : {DataKind::kCsv, DataKind::kMnist, DataKind::kCifar10, DataKind::kImages, DataKind::kNpy,
                          DataKind::kText, DataKind::kDigits}) {
    CHECK_THAT(complaint(config_of(kind, folder / "none")),
               ContainsSubstring("none: does not exist; data.path names it"));
  }
  auto config = config_of(DataKind::kCsv, folder / "train.csv");
  config.validation_path = folder / "none";
  CHECK_THAT(complaint(config), ContainsSubstring("none: does not exist; data.validation_path names it"));
}

TEST_CASE("a class that training has no sample of is refused in a validation file, and named where nothing has it") {
  const TempFolder folder;
  write_file(folder / "train.csv", "1,1\n2,1\n3,3\n");
  write_file(folder / "more.csv", "4,1\n5,3\n");
  auto config = config_of(DataKind::kCsv, folder / "train.csv");
  config.validation_path = folder / "more.csv";
  CHECK(classes_without_samples(load_dataset(config).train).empty());  // classes are 1 and 3
  const auto labels = [](std::vector<std::int64_t> values) {
    return npy("<i8", fmt::format("({},)", values.size()), raw<std::int64_t>(values));
  };
  write_file(folder / "x_train.npy", npy("<f4", "(3, 1)", raw<float>({1, 2, 3})));
  write_file(folder / "y_train.npy", labels({0, 3, 0}));
  write_file(folder / "x_test.npy", npy("<f4", "(2, 1)", raw<float>({1, 2})));
  write_file(folder / "y_test.npy", labels({0, 3}));
  config = config_of(DataKind::kNpy, folder.path());
  CHECK(classes_without_samples(load_dataset(config).train) == std::vector<std::string>{"1", "2"});
  CHECK(class_counts(load_dataset(config).train) == std::vector<std::int64_t>{2, 0, 0, 1});
  CHECK_FALSE(only_class(load_dataset(config).train));
  for (const int unknown : {1, 4}) {
    write_file(folder / "y_test.npy", labels({0, unknown}));
    CHECK_THAT(complaint(config),
               ContainsSubstring("class " + std::to_string(unknown) + " does not occur in the training data"));
  }
}

TEST_CASE("the only class of a training part is named") {
  const TempFolder folder;
  write_file(folder / "cats.csv", "1,cat\n2,cat\n3,cat\n4,cat\n");
  const auto config = config_of(DataKind::kCsv, folder / "cats.csv");
  CHECK(only_class(load_dataset(config).train) == "cat");
  CHECK_FALSE(only_class(load_dataset(config_of(DataKind::kDigits)).train));
  write_file(folder / "numbers.csv", "1,7\n2,7\n3,7\n4,7\n");
  const auto numbers = config_of(DataKind::kCsv, folder / "numbers.csv");
  CHECK(only_class(load_dataset(numbers).train) == "7");
  CHECK_FALSE(only_class(load_dataset(numbers, TestPart::kUnread, config::Task::kRegression).train));
}

TEST_CASE("a class of images that the split or max_samples takes out of training is no error") {
  const TempFolder folder;
  for (int i = 0; i < 6; ++i) {
    write_file(folder / fmt::format("split/c{}/a.png", i), png(picture(4, 4, i)));
    write_file(folder / fmt::format("apart/train/c{}/a.png", i), png(picture(4, 4, i)));
  }
  write_file(folder / "apart/validation/c1/a.png", png(picture(4, 4, 7)));
  auto config = config_of(DataKind::kImages, folder / "split");
  config.validation_fraction = 0.5;
  const auto splits = load_dataset(config);
  CHECK(classes_without_samples(splits.train).size() == 3);
  CHECK(splits.train.shape.num_classes == 6);
  config = config_of(DataKind::kImages, folder / "apart");
  config.max_samples = 2;  // the first and the fourth
  CHECK(classes_without_samples(load_dataset(config).train) == std::vector<std::string>{"c1", "c2", "c4", "c5"});
  write_file(folder / "apart/validation/dog/a.png", png(picture(4, 4, 8)));
  CHECK_THAT(complaint(config), ContainsSubstring("class \"dog\" does not occur in the training data"));
}

TEST_CASE("a validation file of its own is used, its classes matched by name") {
  const TempFolder folder;
  write_file(folder / "train.csv", "1,ant\n2,bee\n3,cat\n");
  write_file(folder / "more.csv", "4,cat\n5,bee\n");
  auto config = config_of(DataKind::kCsv, folder / "train.csv");
  config.validation_path = folder / "more.csv";
  const auto splits = load_dataset(config);
  CHECK(num_samples(splits.train) == 3);
  CHECK(splits.validation.targets[0].item<std::int64_t>() == 2);
  CHECK(splits.validation.targets[1].item<std::int64_t>() == 1);
  CHECK(splits.validation.shape == splits.train.shape);
  write_file(folder / "more.csv", "4,cat\n\n4,dog\n");
  CHECK_THAT(complaint(config),
             ContainsSubstring("more.csv: line 3: class \"dog\" does not occur in the training data"));
  write_file(folder / "more.csv", "4,5,cat\n");
  CHECK_THAT(complaint(config), ContainsSubstring("differ in shape"));
}

TEST_CASE("text becomes windows whose targets are one character later; the end validates") {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>('a' + i * i % 17);
  write_file(folder / "a.txt", text);
  auto config = config_of(DataKind::kText, folder / "a.txt");
  config.context = 10;
  const auto splits = load_dataset(config);
  CHECK(splits.train.inputs.size(0) == 800);
  CHECK(splits.validation.inputs.size(0) == 200);
  CHECK(num_samples(splits.train) == 79);  // the 80th window would have no last target
  CHECK(splits.train.shape == leyline::tokens_shape(10, static_cast<std::int64_t>(splits.train.class_names.size())));
  const auto token = splits.validation.inputs[0].item<std::int64_t>();
  CHECK(splits.train.class_names.at(static_cast<std::size_t>(token)) == text.substr(800, 1));
  config.context = 500;
  CHECK_THAT(complaint(config), ContainsSubstring("too short for data.context = 500"));
}

TEST_CASE("synthetic data are the same on every machine and centred on their classes") {
  auto config = config_of(DataKind::kSynthetic);
  config.synthetic = {2000, 8, 4, 0.5};
  const auto splits = load_dataset(config);
  CHECK(num_samples(splits.train) == 1600);
  CHECK(digest(splits.train.inputs) == 0x7ad40f02ec7359cd);
  const auto of_class = splits.train.inputs.index({splits.train.targets == 2});
  CHECK_THAT(of_class.std(0).mean().item<double>(), WithinAbs(0.5, 0.03));
  config.split_seed = 1;
  CHECK(digest(load_dataset(config).train.inputs) != digest(splits.train.inputs));
}

TEST_CASE("synthetic data that do not fit into memory are refused, their labels counted") {
  auto config = config_of(DataKind::kSynthetic);
  config.synthetic = {100'000'000, 1'000'000, 4, 0.5};
  CHECK_THAT(complaint(config, base::ExitCode::kResources),
             ContainsSubstring("data.synthetic: 100000000 samples of 1000000 numbers and a label would take ") &&
                 ContainsSubstring("; lower data.synthetic.samples or data.synthetic.features, or give the process"));
  const auto made = [](std::int64_t samples, std::int64_t max_bytes) {
    return make_synthetic({samples, 1, 4, 0.5}, 0, {config::BadSample::kFail, max_bytes});
  };
  CHECK(made(1000, 12'000).labels.size() == 1000);
  CHECK(error_of([&] { made(1000, 11'999); }).code() == base::ExitCode::kResources);
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(error_of([&] { made(kMost / 2, 12'000); }).code() == base::ExitCode::kConfig);
}

TEST_CASE("random numbers are spread as they should be") {
  double sum = 0, squares = 0;
  std::vector<int> count(7, 0);
  constexpr int kDraws = 100000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double x = random_normal(key_of(1, Stream::kNoise), i);
    sum += x;
    squares += x * x;
    ++count[random_below(key_of(1, Stream::kAugment), i, 7)];
  }
  CHECK_THAT(sum / kDraws, WithinAbs(0, 0.02));
  CHECK_THAT(squares / kDraws, WithinAbs(1, 0.03));
  for (const int seen : count) CHECK_THAT(seen, WithinAbs(kDraws / 7.0, 600));
}

TEST_CASE("skipped samples are counted, and nothing left is an error") {
  const TempFolder folder;
  write_file(folder / "a.csv", "1,ant\nx,bee\n3,cat\n4,cat\n");
  auto config = config_of(DataKind::kCsv, folder / "a.csv");
  CHECK_THAT(complaint(config), ContainsSubstring("line 2, field 1"));
  config.bad_sample = config::BadSample::kSkip;
  const auto splits = load_dataset(config);
  CHECK(splits.skipped == 1);
  CHECK_THAT(splits.first_skipped, ContainsSubstring("a.csv: line 2, field 1: "));
  write_file(folder / "a.csv", "a,b\nx,bee\n");
  CHECK_THAT(complaint(config), ContainsSubstring("no samples left"));
  write_file(folder / "a.csv", "1,ant\n");
  CHECK_THAT(complaint(config), ContainsSubstring("needs 2"));
}

TEST_CASE("every kind refuses a path that is missing, empty, absent or of another kind") {
  const TempFolder folder;
  write_file(folder / "empty", "");
  write_file(folder / "junk", std::string("\x01\x02\x03 junk \xff\xfe", 11));
  std::ofstream(folder / "giant").put('x');
  std::filesystem::resize_file(folder / "giant", std::uintmax_t{1} << 41);
  for (const auto kind :
       {DataKind::kCsv, DataKind::kMnist, DataKind::kCifar10, DataKind::kImages, DataKind::kNpy, DataKind::kText}) {
    for (const std::string name : {"none", "empty", "junk", "giant"}) {
      INFO("kind " << static_cast<int>(kind) << ", file " << name);
      // A folder is expected of the others.
      const bool read_whole = kind == DataKind::kCsv || kind == DataKind::kNpy || kind == DataKind::kText;
      const auto code = name == "giant" && read_whole ? base::ExitCode::kResources : base::ExitCode::kData;
      CHECK_THAT(complaint(config_of(kind, folder / name), code), ContainsSubstring(folder.path().string()));
    }
    CHECK_THAT(complaint(config_of(kind), base::ExitCode::kConfig), ContainsSubstring("data.path"));
  }
}

}  // namespace
}  // namespace esper::data::test::load_dataset_test
