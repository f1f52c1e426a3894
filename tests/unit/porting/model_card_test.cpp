#include "porting/model_card.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "kasmina/network.h"

namespace esper::test::model_card_test {

using namespace esper;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

data::Preprocessing digits() {
  data::Preprocessing it;
  it.shape = leyline::features_shape(64, 2);
  it.standardization.mean = it.standardization.deviation = std::vector<float>(64, 1.0f);
  it.class_names = {"ca|t", "dog"};
  return it;
}

}  // namespace

TEST_CASE("the card says what grew, how good it is and how to use it") {
  porting::ModelCard card;
  card.run = "digits-1";
  card.format = "onnx";
  card.figures = {{"accuracy", 0.9}, {"loss", 0.25}};
  card.seeds = {{"seed-0001", "mlp", "r0c0", "fossil", 12, 3, 7}};
  card.difference = 1e-7;
  card.checked_by = "onnxruntime";
  const auto text = porting::model_card(card, digits());
  CHECK(has(text, "| seed-0001 | mlp | r0c0 | fossil | 12 | 3 | 7 |\n"));
  CHECK(has(text, "| accuracy | 0.9 |\n| loss | 0.25 |\n"));
  CHECK(has(text, "2 for task classification: ca\\|t, dog"));
  CHECK(has(text, "float32 64, standardised"));
  CHECK(has(text, "onnxruntime.InferenceSession(\"model.onnx\")"));
  CHECK(has(text, "at most 1e-07 of the largest output (onnxruntime)"));
}

TEST_CASE("outputs of standardised targets are in the data's units, but those of weights alone") {
  auto it = digits();
  it.task = config::Task::kRegression;
  it.standardization.target_mean = it.standardization.target_deviation = {2, 3};
  porting::ModelCard card;
  card.format = "onnx";
  CHECK(has(porting::model_card(card, it), "2 for task regression, in the data's units"));
  card.format = "safetensors";
  CHECK(has(porting::model_card(card, it), "2 for task regression, standardised (target_mean and target_deviation"));
}

TEST_CASE("every format has its lines, text its own sample") {
  auto it = digits();
  porting::ModelCard card;
  for (const std::string format : {"pytorch", "pt2", "aoti", "onnx", "safetensors"}) {
    card.format = format;
    CHECK(has(porting::model_card(card, it), "```python\n"));
  }
  card.format = "pytorch";
  CHECK(has(porting::model_card(card, it), "model.preprocess(samples)"));
  it.shape = leyline::tokens_shape(8, 2);
  CHECK(has(porting::model_card(card, it), "model.preprocess([0, 1])"));
  it.kind = config::DataKind::kText;
  CHECK(has(porting::model_card(card, it), "model.preprocess(\"a text\")"));
}

TEST_CASE("a seed is a fossil, folded, blended in, or no part of the network") {
  config::HostConfig host;
  host.hidden = {4, 4, 4, 4};
  host.modules = {"r0c0=mlp", "r0c1=linear", "r0c2=mlp", "r0c3=mlp"};
  kasmina::Network network(host, {}, leyline::features_shape(3, 2), 1, torch::kCPU);
  auto topology = network.save_topology();
  const auto set = [&](std::size_t slot, leyline::Stage stage, double alpha) {
    auto& saved = topology.at("slots").at(slot);
    saved["stage"] = static_cast<int>(stage);
    for (const char* name : {"value", "target", "start"}) saved["seed"]["alpha"][name] = alpha;
  };
  topology.at("slots").at(1)["seed"]["folded"] = true;
  set(2, leyline::Stage::kBlending, 0.25);
  set(3, leyline::Stage::kGerminated, 0);
  network.restore_topology(topology);
  const auto seeds = porting::card_seeds(network.state());
  REQUIRE(seeds.size() == 4);
  CHECK(seeds[0].state == "fossil");
  CHECK(seeds[0].parameters == 76);
  CHECK(seeds[1].state == "fossil, folded into host.block2.linear");
  CHECK(seeds[1].parameters == 0);
  CHECK(seeds[2].state == "BLENDING, alpha 0.25");
  CHECK(seeds[3].state == "not part of the network: alpha 0");
}

TEST_CASE("the statistics of batch norm and modules that are no part of the network are not among its parameters") {
  config::HostConfig host;
  host.kind = config::HostKind::kCnn;
  host.blocks = 2;
  host.base_channels = 16;
  host.pool_layers = 0;
  host.modules = {"r0c0=conv_heavy", "r0c1=conv_heavy"};
  kasmina::Network network(host, {}, leyline::image_shape(1, 8, 8, 10), 1, torch::kCPU);
  // Convolutions without bias, two numbers a channel for each norm, and the head.
  const std::int64_t of_host = 9 * 16 + 2 * 16 + 9 * 16 * 32 + 2 * 32 + 32 * 10 + 10;
  const std::int64_t of_first = 18 * 16 * 16 + 4 * 16, of_second = 18 * 32 * 32 + 4 * 32;
  CHECK(porting::card_parameters(network.state()) == of_host + of_first + of_second);
  auto topology = network.save_topology();
  auto& saved = topology.at("slots").at(1);
  saved["stage"] = static_cast<int>(leyline::Stage::kGerminated);
  for (const char* name : {"value", "target", "start"}) saved["seed"]["alpha"][name] = 0;
  network.restore_topology(topology);
  CHECK(porting::card_parameters(network.state()) == of_host + of_first);
}

}  // namespace esper::test::model_card_test
