#include "tamiyo/network/tensor_names.h"

#include <catch2/catch_test_macros.hpp>
#include <set>

namespace esper::test::tensor_names_test {

using namespace esper::tamiyo;

namespace {

std::vector<std::int64_t> shape_of(const std::string& name) {
  for (const TensorSpec& spec : network_tensors()) {
    if (spec.name == name) return spec.shape;
  }
  return {};
}

}  // namespace

// The numbers are those of the module that scripts/record_tamiyo_parity.py builds.
TEST_CASE("the network's tensors are those of the PyTorch Geometric module") {
  std::set<std::string> names;
  std::int64_t numbers = 0;
  for (const auto& [name, shape] : network_tensors()) {
    names.insert(name);
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    numbers += count;
  }
  CHECK(network_tensors().size() == 466);
  CHECK(names.size() == 466);
  CHECK(numbers == 13'953'971);
}

TEST_CASE("names and shapes as in its state_dict") {
  using Shape = std::vector<std::int64_t>;
  CHECK(network_tensors().front().name == "encoders.global.0.weight");
  CHECK(network_tensors().back().name == "blueprint_scores.bias");
  CHECK(shape_of("encoders.activation.0.weight") == Shape{256, 8});
  CHECK(shape_of("encoders.seed.2.bias") == Shape{256});
  CHECK(shape_of("convs.0.convs.<seed___peer___seed>.lin_l.bias") == Shape{256});
  CHECK(shape_of("convs.1.convs.<blueprint___monitored_by___global>.lin_r.weight") == Shape{256, 256});
  CHECK(shape_of("convs.2.convs.<layer___feeds___activation>.lin_src.weight") == Shape{512, 256});
  CHECK(shape_of("convs.3.convs.<layer___feeds___activation>.lin_dst.weight") == Shape{512, 128});
  CHECK(shape_of("convs.3.convs.<seed___peer___seed>.att_edge") == Shape{1, 4, 128});
  CHECK(shape_of("convs.3.convs.<seed___peer___seed>.lin_edge.weight") == Shape{512, 3});
  CHECK(shape_of("schedule_params.2.weight") == Shape{2, 64});
}

}  // namespace esper::test::tensor_names_test
