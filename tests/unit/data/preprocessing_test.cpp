#include "data/preprocessing.h"

#include <torch/types.h>

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace esper::test::preprocessing_test {

using data::Element;
using data::Preprocessing;
using data::read_preprocessing;
using nlohmann::json;

namespace {

Preprocessing of_features() {
  Preprocessing it;
  it.kind = config::DataKind::kCsv;
  it.shape = leyline::features_shape(3, 2);
  it.standardization = {{0.1f, -1.0f / 3, 1e-30f},
                        {std::nextafter(1.0f, 2.0f), std::numeric_limits<float>::denorm_min(), 3.4e38f}};
  it.class_names = {"cat", "d\"o\\g \xff\xfe"};
  it.feature_names = {"height", "wid,th", ""};
  it.target_name = "kind \xff";
  return it;
}

Preprocessing of_standardised_targets() {
  Preprocessing it = of_features();
  it.task = config::Task::kRegression;
  it.standardization.target_mean = {500000.1f, -1.0f / 3};
  it.standardization.target_deviation = {std::nextafter(1.0f, 2.0f), 1e-30f};
  return it;
}

Preprocessing of_images() {
  Preprocessing it;
  it.task = config::Task::kMultilabel;
  it.kind = config::DataKind::kImages;
  it.shape = leyline::image_shape(3, 32, 24, 5);
  it.element = Element::kPixel;
  it.image_size = 32;
  it.standardization = {{0.5f, 0.25f, 0.125f}, {0.1f, 0.2f, 0.3f}};
  return it;
}

Preprocessing of_text() {
  Preprocessing it;
  it.task = config::Task::kLanguage;
  it.kind = config::DataKind::kText;
  it.shape = leyline::tokens_shape(64, 4);
  it.element = Element::kToken;
  it.class_names = {"\n", "a", "\xc3\xa4", "\xf0\x9f\x99\x82"};
  return it;
}

std::string why_refused(const json& document) { return read_preprocessing(document.dump()).error_or("it was read"); }

std::string without(const std::string& name) {
  json document = to_json(of_features());
  document.erase(name);
  return why_refused(document);
}

std::string with(const std::string& pointer, const json& value) {
  json document = to_json(of_features());
  document[json::json_pointer(pointer)] = value;
  return why_refused(document);
}

}  // namespace

TEST_CASE("what a checkpoint keeps of its data comes back to the bit") {
  for (const Preprocessing& it : {of_features(), of_images(), of_text()}) {
    const auto back = read_preprocessing(text_of(it));
    REQUIRE(back);
    CHECK(to_json(*back) == to_json(it));
    CHECK(back->target_name == it.target_name);
    for (std::size_t i = 0; i < it.standardization.mean.size(); ++i) {
      CHECK(std::bit_cast<std::uint32_t>(back->standardization.mean[i]) ==
            std::bit_cast<std::uint32_t>(it.standardization.mean[i]));
      CHECK(std::bit_cast<std::uint32_t>(back->standardization.deviation[i]) ==
            std::bit_cast<std::uint32_t>(it.standardization.deviation[i]));
    }
  }
}

TEST_CASE("the encoding of a table comes back with its words") {
  Preprocessing it = of_features();
  it.feature_names.clear();
  it.shape = leyline::features_shape(5, 2);
  it.standardization = {};
  it.table.inputs = {{.name = "size", .fill = 0.1},
                     {.name = "f\xe4rbe", .is_word = true, .words = {"", "r\xc3\xb6t", "r\xf6t", "r\xfct"}}};
  it.table.targets = {"price"};
  it.table.missing = config::MissingValue::kMean;
  const auto back = read_preprocessing(text_of(it));
  REQUIRE(back);
  CHECK(to_json(*back) == to_json(it));
  CHECK(back->table.inputs[1].words == it.table.inputs[1].words);
  CHECK(back->table.inputs[1].name == it.table.inputs[1].name);
}

TEST_CASE("columns whose numbers are shaped into images keep their names and their encoding") {
  Preprocessing it = of_features();
  it.shape = leyline::image_shape(1, 1, 3, 2);
  it.standardization = {{0.5f}, {2.0f}};
  const auto named = read_preprocessing(text_of(it));
  REQUIRE(named);
  CHECK(named->feature_names == it.feature_names);
  it.feature_names.clear();
  it.table.inputs = {{.name = "size"}, {.name = "colour", .is_word = true, .words = {"blue", "red"}}};
  const auto table = read_preprocessing(text_of(it));
  REQUIRE(table);
  CHECK(to_json(*table) == to_json(it));
  it.table.inputs.pop_back();
  CHECK_FALSE(read_preprocessing(text_of(it)));
}

TEST_CASE("it says what the training part was like") {
  data::Splits splits;
  splits.train.inputs = torch::zeros({4, 3, 8, 8}, torch::kUInt8);
  splits.train.shape = leyline::image_shape(3, 8, 8, 2);
  splits.train.class_names = {"a", "b"};
  splits.standardization = {{1, 2, 3}, {4, 5, 6}};
  config::DataConfig config;
  config.kind = config::DataKind::kImages;
  config.image_size = 8;
  const auto it = data::preprocessing_of(config, config::Task::kClassification, splits);
  CHECK(it.element == Element::kPixel);
  CHECK(it.shape == splits.train.shape);
  CHECK(it.standardization == splits.standardization);
  CHECK(it.class_names == splits.train.class_names);
  CHECK(it.image_size == 8);
  CHECK(name_of_output(it, 1) == "b");
  splits.train.inputs = splits.train.inputs.to(torch::kFloat32);
  splits.train.class_names.clear();
  const auto numbers = data::preprocessing_of(config, config::Task::kClassification, splits);
  CHECK(numbers.element == Element::kNumber);
  CHECK(name_of_output(numbers, 1) == "1");
}

TEST_CASE("a document that lacks a member is refused, and names it") {
  for (const std::string name : {"task", "kind", "shape", "element", "image_size", "mean", "deviation", "class_names",
                                 "feature_names", "table"}) {
    INFO(name);
    CHECK(without(name).starts_with(name + " "));
  }
  CHECK(without("version") == "it is of another version");
}

TEST_CASE("a document of an earlier version names no target") {
  json document = to_json(of_features());
  document.erase("target_name");
  const auto read = read_preprocessing(document.dump());
  REQUIRE(read);
  CHECK(read->target_name.empty());
}

TEST_CASE("mean and deviation of targets come back to the bit, and an earlier version wrote none") {
  const Preprocessing it = of_standardised_targets();
  const auto back = read_preprocessing(text_of(it));
  REQUIRE(back);
  CHECK(back->standardization == it.standardization);
  json document = to_json(it);
  for (const char* name : {"target_mean", "target_deviation"}) document.erase(name);
  const auto earlier = read_preprocessing(document.dump());
  REQUIRE(earlier);
  CHECK(earlier->standardization.target_mean.empty());
  CHECK(earlier->standardization.mean == it.standardization.mean);
}

TEST_CASE("mean and deviation of targets that fit no regression are refused") {
  const auto changed = [](const std::string& name, const json& value) {
    json document = to_json(of_standardised_targets());
    document[name] = value;
    return why_refused(document);
  };
  CHECK(changed("target_mean", json::array({1})) == "target_mean and target_deviation differ in length");
  CHECK(changed("target_mean", json::array({1, nullptr})) == "target_mean holds something that is not a finite number");
  CHECK(changed("target_deviation", json::array({1, 0})) == "target_deviation is not above 0");
  CHECK(changed("task", "multilabel") == "target_mean and task do not fit each other");
  json document = to_json(of_standardised_targets());
  document["target_mean"] = document["target_deviation"] = json::array({1, 2, 3});
  CHECK(why_refused(document) == "the numbers of target_mean and outputs differ");
}

TEST_CASE("members that were tampered with are refused") {
  CHECK(with("/version", 2) == "it is of another version");
  CHECK(with("/task", "guessing").starts_with("task is not one of classification"));
  CHECK(with("/kind", 3).starts_with("kind is not one of"));
  CHECK(with("/shape/sizes", json::array({-3})) == "shape has sizes that are out of range");
  CHECK(with("/shape/sizes", json::array({1.5})) == "shape has sizes that are out of range");
  CHECK(with("/shape/sizes", json::array({1 << 24, 1 << 24, 1 << 24})) == "shape has sizes that are out of range");
  CHECK(with("/shape/sizes", json::array({3, 3})) == "shape fits no kind of sample (features, image, tokens)");
  CHECK(with("/shape/outputs", 0) == "shape has a number of outputs that is out of range");
  CHECK(with("/shape/outputs", std::int64_t{1} << 40) == "shape has a number of outputs that is out of range");
  CHECK(with("/image_size", -1).starts_with("image_size is not a whole number"));
  CHECK(with("/mean", json::array({1, 2})) == "mean and deviation differ in length");
  CHECK(with("/mean/0", nullptr) == "mean holds something that is not a finite number");
  CHECK(with("/mean/0", 1e300) == "mean holds something that is not a finite number");
  CHECK(with("/deviation/1", 0) == "deviation is not above 0");
  CHECK(with("/deviation/1", -2) == "deviation is not above 0");
  CHECK(with("/class_names", json::array({"a"})) == "the numbers of class_names and outputs differ");
  CHECK(with("/class_names/0", {{"bytes", "zz"}}) == "class_names holds something that is not a name");
  CHECK(with("/feature_names", json::array({"a"})) == "the numbers of feature_names and features differ");
  CHECK(with("/target_name", 5) == "target_name is not a name");
  CHECK(with("/table/inputs", json::array({{{"name", "height"}}})) == "table and shape are of different kinds of data");
  CHECK(with("/table/inputs/0/size", 3).starts_with("table inputs"));
  CHECK(with("/table/targets/0", {{"bytes", "zz"}}).starts_with("table targets"));
  CHECK(with("/element", "token") == "shape and element are of different kinds of data");
  CHECK(with("/task", "language") == "shape and task are of different kinds of data");
}

TEST_CASE("what is no document at all is refused") {
  for (const std::string text : {"", "null", "[]", "{", "{\"version\":1,\"version\":1}"}) {
    INFO(text);
    CHECK_FALSE(read_preprocessing(text));
  }
  CHECK_FALSE(read_preprocessing(std::string(100, '[')));
  json both = to_json(of_features());
  both["mean"] = both["deviation"] = json::array();
  both["shape"]["sizes"] = {1};
  both["feature_names"] = {"x"};
  CHECK(read_preprocessing(both.dump()));  // without standardisation
}

TEST_CASE("a table of many columns is read as it was written") {
  Preprocessing it = of_features();
  constexpr std::int64_t kColumns = 20000;
  it.kind = config::DataKind::kTable;
  it.shape = leyline::features_shape(kColumns, 2);
  it.standardization = {};
  it.feature_names.clear();
  it.table.targets = {"kind"};
  for (std::int64_t i = 0; i < kColumns; ++i) it.table.inputs.push_back({"gene" + std::to_string(i)});
  const auto read = read_preprocessing(text_of(it));
  REQUIRE(read);
  CHECK(read->table.inputs.size() == kColumns);
  CHECK(read->table.inputs.back().name == "gene19999");
}

}  // namespace esper::test::preprocessing_test
