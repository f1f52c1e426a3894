// An imported network as a host: cut where its slots are, with what passes beside them.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/error.h"
#include "config/facts/exported_host.h"
#include "kasmina/network.h"
#include "kasmina/network/network_stacked.h"
#include "support/files.h"
#include "support/models/host_package.h"

namespace esper::kasmina::exported_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::PackageFiles;
using test::TemporaryFolder;

const auto kSample = leyline::features_shape(test::kPackageInputs, test::kPackageOutputs);

config::HostConfig host_of(const std::string& package) {
  config::HostConfig config;
  config.kind = config::HostKind::kExported;
  config.path = package;
  return config;
}

torch::Tensor inputs_of(std::int64_t count) { return test::package_numbers({count, test::kPackageInputs}) * 10; }

// What the network is by its description.
torch::Tensor expected(const Host& host, const torch::Tensor& inputs) {
  const auto parameter = [&](const char* id) { return find_parameter(host.tensors, id); };
  const auto first = at::linear(inputs, parameter("host.a.weight"), parameter("host.a.bias"));
  return at::linear(first.relu() + first, parameter("host.b.weight"), parameter("host.b.bias"));
}

SlotOutput unchanged(std::size_t, const BlockOutput& from) { return SlotOutput(from.feature); }

std::string refusal(const PackageFiles& files, base::ExitCode code, const leyline::SampleShape& sample = kSample) {
  const TemporaryFolder folder;
  const auto package = test::write_package(folder, files);
  try {
    build_host(host_of(package), sample, 1, torch::kCPU);
  } catch (const base::Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an imported network computes what its program says, whatever the batch and wherever it is cut") {
  const TemporaryFolder folder;
  const auto package = test::write_package(folder);
  const at::NoGradGuard no_grad;
  for (const std::vector<std::string>& slots :
       {std::vector<std::string>{}, {"auto"}, {"hidden.out", "sum"}, {"*"}, {"sum"}}) {
    const Host host = build_host(host_of(package), kSample, 1, torch::kCPU, slots);
    CHECK(host.sites.size() ==
          (slots.empty() || slots.front() == "auto" || slots == std::vector<std::string>{"sum"} ? 1 : 2));
    for (const std::int64_t count : {1, 2, 7}) {
      const auto inputs = inputs_of(count);
      CHECK(at::equal(host.forward(inputs, Mode::kEvaluate, unchanged), expected(host, inputs)));
    }
  }
}

TEST_CASE("a slot of an imported network is a place like any other, and its seed passes on what goes beside it") {
  const TemporaryFolder folder;
  const auto package = test::write_package(folder);
  const Host host = build_host(host_of(package), kSample, 1, torch::kCPU, {"*"});
  CHECK(host.sites[0].id == "r0c0");
  CHECK(host.sites[0].path == "hidden");
  CHECK(host.sites[1].taken_by == "host.b");
  CHECK(host.sites[1].shape.channels == test::kPackageHidden);
  const at::NoGradGuard no_grad;
  const auto inputs = inputs_of(5);
  const auto doubled = host.forward(inputs, Mode::kEvaluate, [](std::size_t slot, const BlockOutput& from) {
    return SlotOutput(slot == 0 ? from.feature * 2 : from.feature);
  });
  const auto first =
      at::linear(inputs, find_parameter(host.tensors, "host.a.weight"), find_parameter(host.tensors, "host.a.bias"));
  const auto by_hand = at::linear(first.relu() * 2 + first, find_parameter(host.tensors, "host.b.weight"),
                                  find_parameter(host.tensors, "host.b.bias"));
  CHECK(at::equal(doubled, by_hand));
}

TEST_CASE("modes: dropout and counters in training alone, neither where nothing may last") {
  const TemporaryFolder folder;
  const auto package = test::write_package(folder);
  const Host host = build_host(host_of(package), kSample, 1, torch::kCPU);
  const auto count = [&] { return find_buffer(host.tensors, "host.count").item<std::int64_t>(); };
  const auto inputs = inputs_of(40);
  const auto evaluated = host.forward(inputs, Mode::kEvaluate, unchanged);
  const auto silent = host.forward(inputs, Mode::kTrainReadOnly, unchanged);
  CHECK(at::equal(silent, evaluated));
  CHECK(count() == 0);
  const auto trained = host.forward(inputs, Mode::kTrain, unchanged);
  CHECK_FALSE(at::allclose(trained, evaluated));
  CHECK(count() == 1);
  CHECK(trained.requires_grad());
}

TEST_CASE("configurations side by side are those one after the other, with values beside the slot") {
  const TemporaryFolder folder;
  const auto package = test::write_package(folder);
  config::HostConfig host = host_of(package);
  host.modules = {"r0c0=linear", "r0c1=linear"};
  config::GrowthConfig growth;
  growth.slots = {"*"};
  const Network network(host, growth, kSample, 3, torch::kCPU);
  for (const auto& group : network.parameter_groups()) {
    if (group.id == "host") continue;
    const at::NoGradGuard no_grad;
    for (const auto& [id, tensor] : group.parameters) tensor.add_(0.3);
  }
  const auto inputs = inputs_of(6);
  const std::vector<Configuration> configurations{
      {{"seed-0001", 0}, {"seed-0002", 1}}, {{"seed-0001", 1}, {"seed-0002", 0}}, {{"seed-0001", 1}, {"seed-0002", 1}}};
  const at::NoGradGuard no_grad;
  const auto plan = plan_stacked(network.state(), configurations);
  const auto all = forward_stacked(network.state(), inputs, plan).chunk(plan.groups);
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    const auto alone = plan_stacked(network.state(), std::span(configurations).subspan(i, 1));
    const auto one = forward_stacked(network.state(), inputs, alone);
    CHECK(at::allclose(all[static_cast<std::size_t>(plan.group_of[i])], one, 1e-5, 1e-6));
  }
  CHECK_FALSE(at::allclose(all[0], all[1]));
}

TEST_CASE("a package that was tampered with is refused, and says where") {
  const TemporaryFolder folder;
  const auto package = test::write_package(folder);
  auto text = test::read_text(package + "/evaluate.json");
  text[text.find("relu")] = 'g';
  test::write_text(package + "/evaluate.json", text);
  const auto build = [&] { build_host(host_of(package), kSample, 1, torch::kCPU); };
  REQUIRE_THROWS_WITH(build(), ContainsSubstring(package) && ContainsSubstring("evaluate.json"));
  std::filesystem::remove(package + "/evaluate.json");
  REQUIRE_THROWS_WITH(build(), ContainsSubstring(package) && ContainsSubstring("evaluate.json"));
}

TEST_CASE("what does not fit an imported network is named with the way out") {
  using base::ExitCode;
  CHECK_THAT(refusal({}, ExitCode::kConfig, leyline::features_shape(5, 3)),
             ContainsSubstring("--example 5") && ContainsSubstring("[4]"));
  CHECK_THAT(refusal({}, ExitCode::kConfig, leyline::features_shape(4, 7)), ContainsSubstring("num_classes=7"));
  CHECK_THAT(refusal({}, ExitCode::kConfig, leyline::tokens_shape(4, 3)), ContainsSubstring("tokens"));
  PackageFiles unknown;
  unknown.evaluate["operations"][1][0] = "aten::no_such_operator";
  CHECK_THAT(refusal(unknown, ExitCode::kData), ContainsSubstring("aten::no_such_operator"));
  PackageFiles foreign;
  foreign.train["operations"][1][0] = "mine::relu";
  CHECK_THAT(refusal(foreign, ExitCode::kData), ContainsSubstring("mine::relu"));
  PackageFiles other_weights;
  other_weights.weights[0].tensor = at::zeros({2, 2});
  CHECK_THAT(refusal(other_weights, ExitCode::kData), ContainsSubstring("host.a.weight"));
  PackageFiles missing;
  missing.weights.pop_back();
  CHECK_THAT(refusal(missing, ExitCode::kData), ContainsSubstring("host.count"));
  for (const auto& cut :
       {nlohmann::json::array({7, 400}), nlohmann::json::array({-1, 1}), nlohmann::json::array({5, 1})}) {
    PackageFiles no_place;
    no_place.description["sites"][0]["train"] = cut;
    CHECK_THAT(refusal(no_place, ExitCode::kData), ContainsSubstring("a place that its programs do not have"));
  }
}

// Its manifest is right: hashes prove that nothing was changed by accident, not who wrote it.
TEST_CASE("a package whose content was written to do harm is refused") {
  using base::ExitCode;
  const std::string code = "host.x\n (__import__('os').system('true'),), #";
  PackageFiles buffer;
  buffer.weights.push_back({code, at::zeros({1})});
  CHECK_THAT(refusal(buffer, ExitCode::kData), ContainsSubstring("an invalid name"));
  PackageFiles input;
  input.train["inputs"][4][0] = code;
  CHECK_THAT(refusal(input, ExitCode::kData), ContainsSubstring("an input's name"));
  PackageFiles device;
  device.train["operations"][1] = {"aten::to.device", device.train["operations"][1][1],
                                   device.train["operations"][1][2]};
  device.train["operations"][1][1] = nlohmann::json::parse(
      R"([["tensor", 6], ["device", "cuda;"], ["int", 6], ["bool", false], ["bool", false], ["none"]])");
  CHECK_THAT(refusal(device, ExitCode::kData), ContainsSubstring("neither cpu nor cuda"));
  PackageFiles output;
  output.evaluate["output"] = -1;
  CHECK_THAT(refusal(output, ExitCode::kData), ContainsSubstring("its output is not a value"));
  PackageFiles frozen;
  frozen.description["sites"][1]["auto"] = true;
  frozen.description["frozen"] = {"host.b.weight", "host.b.bias"};
  frozen.description["parameters"] = {"host.a.weight", "host.a.bias"};
  const TemporaryFolder folder;
  CHECK(build_host(host_of(test::write_package(folder, frozen)), kSample, 1, torch::kCPU).sites.at(1).taken_by.empty());
  for (const char* layer : {"host.c", "host.count", "host.a"}) {
    PackageFiles folds;
    folds.description["sites"][1]["auto"] = true;
    folds.description["sites"][1]["taken_by"] = layer;
    CHECK_THAT(refusal(folds, ExitCode::kData), ContainsSubstring(std::string("\"") + layer + "\""));
  }
}

}  // namespace esper::kasmina::exported_test
