#include "tolaria/checkpoint/step_bundle.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "support/checkpoint_fixture.h"
#include "support/faults/faulty_file_system.h"

namespace esper::test::step_bundle_test {

using namespace esper::tolaria;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr char kPath[] = "/step-000000037";

StepBundle small_bundle() {
  StepBundle bundle{small_image(2), {}, {}};
  bundle.batch = {{"batch.0.inputs", at::full({4, 2}, std::numeric_limits<double>::quiet_NaN(), torch::kFloat32)},
                  {"batch.0.targets", at::arange(4)}};
  bundle.facts = {"run", 37, 3, 5, 8, "batch.0.inputs is not finite", 0.0125, 0.25, "replay", {false, true}};
  return bundle;
}

}  // namespace

TEST_CASE("a bundle is read as it was written, NaN and odd bytes of its reason included") {
  FaultyFileSystem files;
  StepBundle written = small_bundle();
  written.facts.reason = "\xff is not UTF-8";
  write_step_bundle(files, kPath, written, "name: a\n");
  const auto read = read_step_bundle(files, kPath);
  REQUIRE(read);
  CHECK(read->facts.step == 37);
  CHECK(read->facts.epoch == 3);
  CHECK(read->facts.first_batch == 5);
  CHECK(read->facts.batches_per_epoch == 8);
  CHECK(read->facts.learning_rate == 0.0125);
  CHECK(read->facts.rate_factor == 0.25);
  CHECK(read->facts.lane == "replay");
  CHECK(read->facts.goes_on == std::vector{false, true});
  CHECK_THAT(read->facts.reason, ContainsSubstring("is not UTF-8"));
  REQUIRE(read->batch.size() == 2);
  for (const auto& [id, tensor] : read->batch) {
    if (id == "batch.0.inputs") CHECK(tensor.isnan().all().item<bool>());
    if (id == "batch.0.targets") CHECK(at::equal(tensor, at::arange(4)));
  }
  CHECK(at::equal(read->state.tensors.at(0).tensor, written.state.tensors.at(0).tensor));
  CHECK(files.contents(std::string(kPath) + "/config.yaml") == "name: a\n");
}

TEST_CASE("a bundle's state is read where it is not finite, too: that is what it is there to show") {
  FaultyFileSystem files;
  StepBundle written = small_bundle();
  written.state.tensors.front().tensor.fill_(std::numeric_limits<double>::infinity());
  write_step_bundle(files, kPath, written, "name: a\n");
  const auto read = read_step_bundle(files, kPath);
  REQUIRE(read);
  CHECK(read->state.tensors.front().tensor.isinf().all().item<bool>());
}

TEST_CASE("a damaged bundle, and a checkpoint that is none, are not read") {
  FaultyFileSystem files;
  write_step_bundle(files, kPath, small_bundle(), "name: a\n");
  const std::string batch = std::string(kPath) + "/batch.safetensors";
  std::string bytes = files.contents(batch).value();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  files.put(batch, bytes);
  const auto damaged = read_step_bundle(files, kPath);
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().fault == storage::Fault::kDamaged);
}

}  // namespace esper::test::step_bundle_test
