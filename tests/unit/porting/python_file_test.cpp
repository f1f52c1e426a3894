#include "porting/python/python_file.h"

#include <catch2/catch_test_macros.hpp>

#include "kasmina/network.h"

namespace esper::test::python_file_test {

using namespace esper;

namespace {

std::string file_of(const data::Preprocessing& preprocessing, const std::string& title) {
  config::HostConfig host;
  host.kind = config::HostKind::kLinear;
  const kasmina::Network network(host, {}, preprocessing.shape, 1, torch::kCPU);
  return porting::python_file({network.state(), host, preprocessing.shape}, preprocessing, title);
}

data::Preprocessing some() {
  data::Preprocessing it;
  it.shape = leyline::features_shape(2, 2);
  it.standardization = {{0.1f, -1e-30f}, {1, 3.4e38f}};
  return it;
}

}  // namespace

TEST_CASE("means, deviations and names are in the file, exact and as literals") {
  auto it = some();
  it.class_names = {"a \"b\" \\", "line\nbreak"};
  const auto text = file_of(it, "digits");
  CHECK(text.find("MEAN = [0.1, -1e-30]\nDEVIATION = [1, 3.4e+38]\n") != std::string::npos);
  CHECK(text.find("CLASS_NAMES = [\"a \\\"b\\\" \\\\\", \"line\\nbreak\"]\n") != std::string::npos);
  CHECK(text.find("INPUT_SHAPE = (2,)\n") != std::string::npos);
  it.class_names = {"a\xff", "a\xfe"};  // no UTF-8
  CHECK(file_of(it, "digits").find(R"(CLASS_NAMES = ["a\\xff", "a\\xfe"])") != std::string::npos);
  CHECK(text.find("UNIT = 1\n") != std::string::npos);
  it.element = data::Element::kPixel;
  CHECK(file_of(it, "digits").find("UNIT = 255\n") != std::string::npos);
}

TEST_CASE("a network that learned standardised targets answers in the data's units") {
  auto it = some();
  CHECK(file_of(it, "prices").find("TARGET_") == std::string::npos);
  it.task = config::Task::kRegression;
  it.standardization.target_mean = {500000, 0.1f};
  it.standardization.target_deviation = {100000.5f, 1};
  const auto text = file_of(it, "prices");
  CHECK(text.find("TARGET_MEAN = [500000, 0.1]\nTARGET_DEVIATION = [100000.5, 1]\n") != std::string::npos);
  CHECK(text.find("class TargetUnits(nn.Module):\n") != std::string::npos);
  CHECK(text.find("        self.target_units = TargetUnits(TARGET_MEAN, TARGET_DEVIATION)\n") != std::string::npos);
  CHECK(text.find("        return self.target_units(self.host.head(x))\n") != std::string::npos);
}

TEST_CASE("a title cannot leave the docstring") {
  const auto text = file_of(some(), "a\"\"\"\nimport os\\");
  CHECK(text.starts_with("\"\"\"a    nimport os \"\"\"\n"));
}

}  // namespace esper::test::python_file_test
