// Images whose targets stand in a CSV file (data.labels).

#include "data/readers/image_list.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "data/dataset.h"
#include "data/preprocessing.h"
#include "unit/data/test_files.h"

namespace esper::data::test::image_list_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::DataConfig;
using config::DataKind;
using config::Task;

class Labelled {
 public:
  explicit Labelled(const std::string& labels) {
    for (int i = 0; i < 4; ++i) write_file(folder_ / ("images/" + std::to_string(i) + ".png"), png(picture(4, 4, i)));
    write_file(folder_ / "images/deep/4.jpg", jpeg(picture(4, 4, 4)));
    write_file(folder_ / "secret.png", png(picture(4, 4, 9)));
    write_file(folder_ / "labels.csv", labels);
    config.kind = DataKind::kImages;
    config.path = folder_ / "images";
    config.labels = folder_ / "labels.csv";
    config.validation_fraction = 0.5;
  }
  Splits load(Task task = Task::kClassification) const { return load_dataset(config, TestPart::kUnread, task); }
  std::string complaint(Task task = Task::kClassification) const {
    const auto error = error_of([&] { load(task); });
    CHECK(error.code() == base::ExitCode::kData);
    return error.what();
  }
  const TempFolder& folder() const { return folder_; }

  DataConfig config;

 private:
  TempFolder folder_;
};

TEST_CASE("labels: classes by name, files below the folder") {
  Labelled data("file,kind\n0.png,cat\n1.png,dog\n2.png,cat\n3.png,dog\ndeep/4.jpg,cat\n");
  data.config.validation_path = data.folder() / "more.csv";
  write_file(data.config.validation_path, "kind,file\n");
  CHECK_THAT(data.complaint(), ContainsSubstring("more.csv"));
  write_file(data.config.validation_path, "file,kind\n2.png,dog\n");
  const auto splits = data.load();
  CHECK(splits.train.class_names == std::vector<std::string>{"cat", "dog"});
  CHECK(splits.train.inputs.sizes() == std::vector<std::int64_t>{5, 3, 4, 4});
  CHECK(torch::equal(splits.train.targets, torch::tensor({0, 1, 0, 1, 0}, torch::kInt64)));
  CHECK(torch::equal(splits.validation.inputs[0], splits.train.inputs[2]));
  CHECK(splits.validation.targets[0].item<std::int64_t>() == 1);
}

TEST_CASE("labels: the target is the last column of the training part's file, wherever other files have it") {
  Labelled data("file,size\n0.png,1\n1.png,2\n2.png,3\n3.png,4\n");
  write_file(data.folder() / "more.csv", "file,size,weight\n2.png,3,50\n0.png,1,70\n");
  data.config.validation_path = data.folder() / "more.csv";
  const auto sizes = torch::tensor({{3.0F}, {1.0F}});
  const auto splits = data.load(Task::kRegression);
  CHECK(torch::equal(splits.validation.targets, sizes));
  data.config.test_path = data.folder() / "more.csv";
  const auto like = preprocessing_of(data.config, Task::kRegression, splits);
  CHECK(torch::equal(load_other(data.config, like).targets, sizes));
  data.config.columns.target = {"size"};
  write_file(data.config.labels, "");
  CHECK(torch::equal(load_other(data.config, like).targets, sizes));
}

TEST_CASE("labels: a file that lacks the column that is the target of the training part's is named") {
  Labelled data("file,size\n0.png,1\n1.png,2\n2.png,3\n3.png,4\n");
  data.config.validation_path = data.folder() / "more.csv";
  write_file(data.config.validation_path, "file,weight\n2.png,50\n");
  CHECK_THAT(data.complaint(Task::kRegression), ContainsSubstring("more.csv: line 1: has no column \"size\""));
}

TEST_CASE("labels: the column of the images is no target, named or not") {
  Labelled data("file\n0.png\n1.png\n");
  for (const auto& target : {std::vector<std::string>(), std::vector<std::string>{"file"}}) {
    data.config.columns.target = target;
    CHECK_THAT(data.complaint(), ContainsSubstring("the first column names the images, and \"file\" is the target"));
  }
}

TEST_CASE("labels: several targets of an image") {
  Labelled data("file,red,round,size\n0.png,0,1,2.5\n1.png,1,1,0.5\n2.png,0,0,7\n3.png,1,0,1\n");
  const auto sizes = data.load(Task::kRegression);
  CHECK((sizes.train.targets.sum() + sizes.validation.targets.sum()).item<float>() == 11);
  data.config.columns.target = {"red", "round"};
  const auto both = data.load(Task::kMultilabel);
  CHECK(both.train.shape == leyline::image_shape(3, 4, 4, 2));
  CHECK((both.train.targets.sum() + both.validation.targets.sum()).item<float>() == 4);
  CHECK(num_samples(sizes.train) == 2);
}

TEST_CASE("labels: a path must stay below the folder, links included") {
  for (const std::string path : {"../secret.png", "/etc/passwd", "deep/../../secret.png", "out/secret.png", ""}) {
    Labelled data("file,kind\n0.png,cat\n" + path + ",cat\n");
    std::filesystem::create_directory_symlink("..", data.folder() / "images/out");
    CHECK_THAT(data.complaint(), ContainsSubstring("labels.csv: line 3: ") && ContainsSubstring("is not a path below"));
  }
}

TEST_CASE("labels: a missing image, a column or a label that is none") {
  CHECK_THAT(Labelled("file,kind\n0.png,cat\n1.png,cat\n7.png,cat\n8.png,cat\n").complaint(),
             ContainsSubstring(".png: cannot be opened"));
  CHECK_THAT(Labelled("file,kind\n0.png,\n1.png,cat\n").complaint(),
             ContainsSubstring("line 2, column \"kind\": the target is missing"));
  CHECK_THAT(Labelled("file,kind\n0.png,3\n1.png,cat\n").complaint(Task::kRegression),
             ContainsSubstring("line 3, column \"kind\": expected a number as the target"));
  Labelled skipping("file,kind\n0.png,cat\n1.png,cat\n2.png,cat\n3.png,cat\n../secret.png,cat\n");
  skipping.config.bad_sample = config::BadSample::kSkip;
  const auto splits = skipping.load();
  CHECK(splits.skipped >= 1);
  CHECK(num_samples(splits.train) + num_samples(splits.validation) == 4);
  skipping.config.labels = skipping.folder() / "none.csv";
  CHECK_THAT(skipping.complaint(), ContainsSubstring("none.csv: does not exist; data.labels names it"));
}

}  // namespace
}  // namespace esper::data::test::image_list_test
