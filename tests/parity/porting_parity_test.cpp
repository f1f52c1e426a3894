// Networks written as Python files: what PyTorch computes with them against our own forward, both in evaluation mode.
// Each case is a folder; tests/parity/porting.py runs those of a test in one process. Differences are absolute.

#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "kasmina/network.h"
#include "porting/python/python_file.h"
#include "porting/python/seed_class.h"
#include "porting/weights.h"
#include "storage/atomic_publish.h"
#include "storage/real_file_system.h"
#include "support/models/grown_network.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace esper::test::porting_parity_test {

using namespace esper;
using config::Composition;
using config::HostKind;
using kasmina::Mode;
using leyline::FeatureKind;
using leyline::Stage;
using nlohmann::json;

namespace {

constexpr double kTolerance = 1e-5;
const std::string kPython = ESPER_SOURCE_DIR "/.esper/python/bin/python";
const std::string kEsper = ESPER_BINARY_DIR "/bin/esper";
const std::string kModels = ESPER_SOURCE_DIR "/tests/parity/imported/models.py";
const std::string kScript = ESPER_SOURCE_DIR "/tests/parity/porting.py";

struct Site {
  config::HostConfig host;
  leyline::SampleShape sample;
};

Site flat() {
  Site site{{}, leyline::features_shape(6, 3)};
  site.host.hidden = {12, 10, 14};
  return site;
}
Site images() {
  Site site{{}, leyline::image_shape(2, 8, 9, 3)};
  site.host.kind = HostKind::kCnn;
  site.host.blocks = 3;
  site.host.base_channels = 12;
  site.host.pool_layers = 2;
  return site;
}
Site residual_images() {
  Site site = images();
  site.host.residual_blocks = 2;
  return site;
}
Site text() {
  Site site{{}, leyline::tokens_shape(7, 11)};
  site.host.kind = HostKind::kTransformer;
  site.host.layers = 3;
  site.host.segments = 2;
  site.host.embedding = 48;
  site.host.heads = 2;
  site.host.dropout = 0.1;
  return site;
}

// Values that no part of the network starts with, so that each of them counts.
void disturb(const kasmina::Network& network) {
  const at::NoGradGuard no_grad;
  at::manual_seed(5);
  for (const auto& group : network.parameter_groups()) {
    for (const auto& named : group.parameters) named.tensor.detach().add_(at::randn(named.tensor.sizes()), 0.1);
  }
  for (const auto& [id, tensor] : network.buffers()) {
    if (tensor.is_floating_point()) tensor.detach().add_(at::rand(tensor.sizes()), 0.3);
  }
}

using Modules = std::vector<config::Entry<config::SlotModule>>;

// With these modules: fossils, or at that stage and alpha.
struct Grown {
  Modules modules = {};
  Composition composition = Composition::kAdd;
  Stage stage = Stage::kFossilized;
  double alpha = 1;
  bool folded = false;
};

void set_seed(json& slot, const Grown& grown) {
  if (slot.at("seed").is_null()) return;
  slot["stage"] = static_cast<int>(grown.stage);
  auto& alpha = slot["seed"]["alpha"];
  alpha["value"] = alpha["target"] = alpha["start"] = grown.alpha;
  slot["seed"]["folded"] = grown.folded;
}

struct Case {
  std::string name;
  Site site;
  std::unique_ptr<kasmina::Network> network;
};

Case make_case(const std::string& name, Site site, const Grown& grown) {
  site.host.modules = grown.modules;
  config::GrowthConfig growth;
  growth.composition = grown.composition;
  growth.training = grown.stage == Stage::kTraining ? config::SeedTraining::kShadow : config::SeedTraining::kBlended;
  Case made{name, site, std::make_unique<kasmina::Network>(site.host, growth, site.sample, 7, torch::kCPU)};
  disturb(*made.network);
  auto topology = made.network->save_topology();
  for (auto& slot : topology.at("slots")) set_seed(slot, grown);
  made.network->restore_topology(topology);
  return made;
}

void publish(const std::string& path, const std::string& contents) {
  storage::publish_file(storage::real_file_system(), path, storage::bytes_of(contents));
}
void publish(const std::string& path, const std::vector<kasmina::NamedTensor>& values) {
  storage::publish_file(storage::real_file_system(), path,
                        [&](const storage::ByteSink& sink) { porting::write_weights(values, sink); });
}

void write_case(const std::string& folder, const Case& of) {
  const at::NoGradGuard no_grad;
  std::filesystem::create_directories(folder);
  publish(folder + "/model.py", porting::python_file({of.network->state(), of.site.host, of.site.sample}, {}, of.name));
  publish(folder + "/weights.safetensors", porting::network_values(of.network->state()));
  at::manual_seed(8);
  const auto inputs = tests::inputs_of(of.site.sample, 5);
  publish(folder + "/example.safetensors",
          {{"inputs", inputs}, {"outputs", of.network->forward(inputs, Mode::kEvaluate).contiguous()}});
}

void compare(const std::vector<Case>& cases) {
  at::set_num_threads(1);
  const test::TemporaryFolder folder;
  for (const auto& each : cases) write_case(folder / each.name, each);
  const auto finished = test::run_program({kPython, "-I", kScript, folder.path()});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  const json differences = json::parse(finished.out);
  REQUIRE(differences.size() == cases.size());
  for (const auto& [name, difference] : differences.items()) {
    std::printf("  %-44s %.2e\n", name.c_str(), difference.get<double>());
    INFO(name);
    CHECK(difference.get<double>() < kTolerance);
  }
}

// Where a row of the catalogue is grown: at a slot whose block it can copy or widen.
struct Place {
  Site site;
  std::string slot;
};
Place place_of(const kasmina::Blueprint& blueprint) {
  if (blueprint.fits == FeatureKind::kFeatures) return {flat(), "r0c0"};
  if (blueprint.fits == FeatureKind::kSequence) return {text(), "r0c0"};
  return {blueprint.name.starts_with("copy") ? residual_images() : images(), "r0c1"};
}

Modules one(const std::string& slot, std::string_view blueprint) { return {slot + "=" + std::string(blueprint)}; }

std::string name_of(const kasmina::Blueprint& blueprint) {
  return std::string(kasmina::to_string(blueprint.fits)) + "." + std::string(blueprint.name);
}

}  // namespace

TEST_CASE("hosts as PyTorch computes them") {
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const Site& site) { cases.push_back(make_case(name, site, {})); };
  Site linear{{}, leyline::features_shape(6, 3)}, linear_images{{}, leyline::image_shape(2, 3, 4, 3)};
  linear.host.kind = linear_images.host.kind = HostKind::kLinear;
  add("linear", linear);
  add("linear over images", linear_images);
  add("mlp", flat());
  Site mlp_images = flat();
  mlp_images.sample = leyline::image_shape(2, 3, 4, 3);
  mlp_images.host.dropout = 0.2;
  add("mlp over images", mlp_images);
  add("cnn", images());
  Site wide_kernel = images();
  wide_kernel.host.kernel = 5;
  wide_kernel.host.pool_layers = 0;
  add("cnn, kernel 5", wide_kernel);
  add("cnn with residual blocks", residual_images());
  add("transformer", text());
  compare(cases);
}

TEST_CASE("every blueprint as PyTorch computes it, in full and in part") {
  std::vector<Case> cases;
  for (const auto& blueprint : kasmina::blueprints()) {
    const auto place = place_of(blueprint);
    const auto modules = one(place.slot, blueprint.name);
    cases.push_back(make_case(name_of(blueprint), place.site, {modules}));
    cases.push_back(make_case(name_of(blueprint) + ", alpha 0.35", place.site,
                              {modules, Composition::kAdd, Stage::kBlending, 0.35}));
  }
  compare(cases);
}

TEST_CASE("every composition as PyTorch computes it, in full and in part") {
  std::vector<Case> cases;
  const std::vector<std::pair<Site, std::string>> places = {
      {flat(), "mlp"}, {images(), "conv_heavy"}, {text(), "attention"}};
  for (const auto& [composition, name] : names(Composition{})) {
    for (const auto& [site, blueprint] : places) {
      const auto each = std::string(name) + "." + blueprint;
      const auto modules = one("r0c0", blueprint);
      cases.push_back(make_case(each, site, {modules, composition}));
      cases.push_back(make_case(each + ", alpha 0.35", site, {modules, composition, Stage::kBlending, 0.35}));
    }
  }
  compare(cases);
}

TEST_CASE("widenings, copies and neighbours as PyTorch computes them") {
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const Site& site, const Modules& modules, double alpha) {
    const auto stage = alpha == 1 ? Stage::kFossilized : Stage::kBlending;
    cases.push_back(make_case(name, site, {modules, Composition::kGate, stage, alpha}));
  };
  for (const double alpha : {1.0, 0.35}) {
    const std::string suffix = alpha == 1 ? "" : ", alpha 0.35";
    add("mlp widened everywhere" + suffix, flat(), {"r0c0=widen", "r0c1=widen_half", "r0c2=widen"}, alpha);
    add("cnn widened everywhere" + suffix, images(), {"r0c0=widen", "r0c1=widen_half", "r0c2=widen"}, alpha);
    add("transformer widened everywhere" + suffix, text(), {"r0c0=widen", "r0c1=widen_half"}, alpha);
    add("mlp, widened before another" + suffix, flat(), {"r0c0=widen", "r0c1=lora", "r0c2=noop"}, alpha);
    add("cnn, widened at the end" + suffix, images(), {"r0c0=norm", "r0c2=widen"}, alpha);
    add("three blocks" + suffix, residual_images(), {"r0c1=copy_block*3"}, alpha);
    add("two layers" + suffix, text(), {"r0c1=copy_block_plain*2", "r0c0=flex_attention"}, alpha);
  }
  compare(cases);
}

TEST_CASE("imported networks as PyTorch computes them, with a seed in the first slot") {
  using leyline::features_shape;
  using leyline::image_shape;
  using leyline::tokens_shape;
  const test::TemporaryFolder packages;
  struct Imported {
    std::string model, example;
    leyline::SampleShape sample;
    std::string blueprint;
  };
  const std::vector<Imported> models = {{"ResNet18", "3x16x16", image_shape(3, 16, 16, 10), "conv_heavy"},
                                        {"Gpt", "16:int64", tokens_shape(16, 40), "attention"},
                                        {"UNet", "3x16x16", image_shape(3, 16, 16, 3), "bottleneck"}};
  std::vector<Case> cases;
  for (const auto& [model, example, sample, blueprint] : models) {
    Site site{{}, sample};
    site.host.kind = HostKind::kExported;
    site.host.path = packages / model;
    const auto imported =
        test::run_program({kEsper, "import", kModels + ":" + model, "--example", example, "--out", site.host.path});
    INFO(model << ": " << imported.err);
    REQUIRE(imported.exit_code == 0);
    cases.push_back(make_case(model, site, {}));
    cases.push_back(
        make_case(model + ", grown", site, {one("r0c0", blueprint), Composition::kGate, Stage::kBlending, 0.35}));
  }
  compare(cases);
}

TEST_CASE("what is no part of the network is not in its Python file") {
  std::vector<Case> cases;
  cases.push_back(make_case("folded", flat(), {one("r0c0", "linear"), Composition::kAdd, Stage::kFossilized, 1, true}));
  cases.push_back(make_case("shadow", flat(), {one("r0c0", "mlp"), Composition::kAdd, Stage::kTraining, 0}));
  cases.push_back(make_case("just born", text(), {one("r0c0", "widen"), Composition::kAdd, Stage::kGerminated, 0}));
  for (const auto& each : cases) {
    INFO(each.name);
    const auto file = porting::python_file({each.network->state(), each.site.host, each.site.sample}, {}, each.name);
    CHECK(file.find("seed_0001") == std::string::npos);
    for (const auto& value : porting::network_values(each.network->state())) CHECK(value.id.starts_with("host."));
  }
  compare(cases);
}

}  // namespace esper::test::porting_parity_test
