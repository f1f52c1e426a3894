#include "engine/evaluating/prediction_lines.h"

#include <array>
#include <catch2/catch_test_macros.hpp>

namespace esper::test::prediction_lines_test {

using config::Task;
using engine::PredictionLines;

namespace {

data::Preprocessing of(Task task, std::vector<std::string> names, std::int64_t outputs) {
  data::Preprocessing it;
  it.task = task;
  it.shape = leyline::features_shape(2, outputs);
  it.class_names = std::move(names);
  return it;
}

}  // namespace

TEST_CASE("the likeliest classes come first, and a tie goes to the lower one") {
  const auto like = of(Task::kClassification, {"a,b", "say \"c\"", "d"}, 3);
  const std::array answers{0.25f, 0.5f, 0.25f};
  const PredictionLines csv(like, PredictionFormat::kCsv, 2), json(like, PredictionFormat::kJsonl, 9);
  CHECK(csv.header() == "input,sample,class,probability,class_2,probability_2\n");
  CHECK(csv.line({"x.csv", 7}, answers) == "x.csv,7,\"say \"\"c\"\"\",0.5,\"a,b\",0.25\n");
  CHECK(json.header().empty());
  CHECK(json.line({"x\n.csv", 0}, answers) ==
        R"({"input":"x\n.csv","sample":0,"classes":[{"class":"say \"c\"","probability":0.5},)"
        R"({"class":"a,b","probability":0.25},{"class":"d","probability":0.25}]})"
        "\n");
}

TEST_CASE("labels that apply are named, and each has its probability") {
  const auto like = of(Task::kMultilabel, {"red", "round", "ripe"}, 3);
  const std::array answers{0.9f, 0.1f, 0.5f};
  const PredictionLines csv(like, PredictionFormat::kCsv, 1), json(like, PredictionFormat::kJsonl, 1);
  CHECK(csv.header() == "input,sample,labels,red,round,ripe\n");
  CHECK(csv.line({"f", 1}, answers) == "f,1,red;ripe,0.9,0.1,0.5\n");
  CHECK(json.line({"f", 1}, answers) ==
        R"({"input":"f","sample":1,"labels":["red","ripe"],"probabilities":{"red":0.9,"round":0.1,"ripe":0.5}})"
        "\n");
}

TEST_CASE("names that are no UTF-8 stay different in JSON, and as they are in CSV") {
  const std::vector<std::string> names{"a\xff", "a\xfe"};
  const auto classes = of(Task::kClassification, names, 2), labels = of(Task::kMultilabel, names, 2);
  const std::array answers{0.75f, 0.5f};
  CHECK(PredictionLines(classes, PredictionFormat::kCsv, 2).line({"f", 0}, answers) == "f,0,a\xff,0.75,a\xfe,0.5\n");
  const PredictionLines json(classes, PredictionFormat::kJsonl, 2), of_labels(labels, PredictionFormat::kJsonl, 1);
  CHECK(json.line({"f", 0}, answers) == R"({"input":"f","sample":0,"classes":[{"class":"a\\xff","probability":0.75},)"
                                        R"({"class":"a\\xfe","probability":0.5}]})"
                                        "\n");
  CHECK(of_labels.line({"f", 0}, answers) ==
        R"({"input":"f","sample":0,"labels":["a\\xff","a\\xfe"],"probabilities":{"a\\xff":0.75,"a\\xfe":0.5}})"
        "\n");
}

TEST_CASE("values are written as briefly as they can be read back") {
  const auto like = of(Task::kRegression, {"price"}, 1), unnamed = of(Task::kRegression, {}, 2);
  CHECK(PredictionLines(like, PredictionFormat::kCsv, 1).header() == "input,sample,price\n");
  CHECK(PredictionLines(like, PredictionFormat::kCsv, 1).line({"f", 0}, std::array{-1.1f}) == "f,0,-1.1\n");
  CHECK(PredictionLines(unnamed, PredictionFormat::kCsv, 1).header() == "input,sample,value_0,value_1\n");
  CHECK(PredictionLines(unnamed, PredictionFormat::kJsonl, 1).line({"f", 0}, std::array{0.1f, 3e20f}) ==
        "{\"input\":\"f\",\"sample\":0,\"values\":{\"value_0\":0.1,\"value_1\":3e+20}}\n");
}

TEST_CASE("a class for each pixel: a line for each in CSV, rows of classes in JSON") {
  const auto like = of(Task::kClassification, {"sky", "sea"}, 2);
  const std::array<std::int64_t, 6> classes{0, 0, 1, 1, 1, 0};
  const std::array probabilities{0.5f, 0.75f, 1.0f, 0.5f, 0.5f, 0.5f};
  const engine::PixelAnswers answers{classes, probabilities, 3};
  const PredictionLines csv(like, PredictionFormat::kCsv, 1), json(like, PredictionFormat::kJsonl, 1);
  CHECK(csv.header(engine::AnswerOf::kPixel) == "input,sample,row,column,class,probability\n");
  CHECK(csv.pixel_lines({"f", 2}, answers) ==
        "f,2,0,0,sky,0.5\nf,2,0,1,sky,0.75\nf,2,0,2,sea,1\nf,2,1,0,sea,0.5\nf,2,1,1,sea,0.5\nf,2,1,2,sky,0.5\n");
  CHECK(json.pixel_lines({"f", 2}, answers) ==
        "{\"input\":\"f\",\"sample\":2,\"pixels\":[[\"sky\",\"sky\",\"sea\"],[\"sea\",\"sea\",\"sky\"]]}\n");
}

TEST_CASE("a generated text is a field or a member") {
  const auto like = of(Task::kLanguage, {}, 5);
  CHECK(PredictionLines(like, PredictionFormat::kCsv, 1).header() == "prompt,text\n");
  CHECK(PredictionLines(like, PredictionFormat::kCsv, 1).text_line("a", "b\nc") == "a,\"b\nc\"\n");
  CHECK(PredictionLines(like, PredictionFormat::kJsonl, 1).text_line("a", "b\nc") ==
        "{\"prompt\":\"a\",\"text\":\"b\\nc\"}\n");
}

}  // namespace esper::test::prediction_lines_test
