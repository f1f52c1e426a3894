#include "drill/run_comparison.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "storage/safetensors/safetensors.h"
#include "support/temporary_folder.h"

namespace esper::test::run_comparison_test {
namespace {

// A contents of two epochs; all of them share one file of tensors.
drill::RunContents contents_in(const TemporaryFolder& folder) {
  const std::string path = folder / "state.safetensors";
  std::ofstream file(path, std::ios::binary);
  storage::write_safetensors({}, {}, [&](storage::Bytes bytes) {
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  });
  drill::RunContents contents;
  contents.checkpoint = "epoch-0002-step-000000020";
  contents.tensors = path;
  contents.cursor = {{"step", 20}, {"batch", 0}};
  contents.topology = {{"slots", {1, 2}}};
  contents.epochs[1] = {{"x 1", "y 0.5"}, {"a", "b", "c"}};
  contents.epochs[2] = {{"x 2", "y 0.25"}, {"d"}};
  return contents;
}

std::string difference(const std::vector<drill::Aspect>& aspects) {
  std::string all;
  for (const auto& aspect : aspects) {
    if (!aspect.difference.empty()) all += aspect.name + ": " + aspect.difference + "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("a run equals itself, and every change of one is found with its place") {
  const TemporaryFolder folder;
  const auto reference = contents_in(folder);
  CHECK(drill::are_equal(drill::compare_runs(reference, reference, 0)));
  const auto changed = [&](auto change) {
    auto other = reference;
    change(other);
    const auto aspects = drill::compare_runs(reference, other, 1);
    CHECK_FALSE(drill::are_equal(aspects));
    return difference(aspects);
  };
  CHECK(changed([](auto& contents) { contents.cursor["step"] = 21; }) == "cursor and progress: /step: 21, not 20\n");
  CHECK(changed([](auto& contents) {
          contents.topology["slots"].erase(1);
        }).starts_with("topology: /slots/1: nothing, not 2"));
  const std::string metrics = "losses and other metrics of epochs: ";
  CHECK(changed([](auto& contents) { contents.epochs[2].figures[1] = "y 0.26"; }) ==
        metrics + "epoch 2: y 0.26, not y 0.25\n");
  CHECK(changed([](auto& contents) { contents.epochs[2].figures = {"x 2"}; }) ==
        metrics + "epoch 2: nothing, not y 0.25\n");
  CHECK(changed([](auto& contents) { contents.epochs[2].figures.push_back("z"); }) ==
        metrics + "epoch 2: z, not nothing\n");
  CHECK(changed([](auto& contents) { contents.epochs[2].figures = {"y 0.25", "x 2"}; }) ==
        metrics + "epoch 2: y 0.25, not x 2\n");
  CHECK(changed([](auto& contents) { contents.contradictions = {"epoch 1: 1, not 2"}; }) ==
        metrics + "epoch 1: 1, not 2\n");
  CHECK(changed([](auto& contents) { contents.epochs[1].events = {"b", "a"}; }) ==
        "decisions and growth, in their order: epoch 1: a is not in the reference there\n");
  CHECK(changed([](auto& contents) { contents.epochs[3].events = {"e"}; }) ==
        "decisions and growth, in their order: epoch 3: e is not in the reference there\n");
  CHECK(changed([](auto& contents) { contents.checkpoint = "epoch-0002-step-000000019"; }) ==
        "place of the last checkpoint: epoch-0002-step-000000019, not epoch-0002-step-000000020\n");
  CHECK(changed([](auto& contents) { contents.outcome = {1}; }).starts_with("outcome: "));
  CHECK(changed([](auto& contents) { contents.controller = 1; }).starts_with("state of the policy: "));
}

TEST_CASE("what a killed process did not report is a remark, no difference") {
  const TemporaryFolder folder;
  const auto reference = contents_in(folder);
  auto other = reference;
  other.epochs[1].events = {"a", "c"};
  other.epochs.erase(2);
  const auto aspects = drill::compare_runs(reference, other, 2);
  CHECK_FALSE(drill::are_equal(drill::compare_runs(reference, other, 1)));
  CHECK(drill::are_equal(aspects));
  const auto remarks = std::ranges::count_if(aspects, [](const auto& aspect) { return !aspect.remark.empty(); });
  CHECK(remarks == 2);
}

TEST_CASE("a run that reported nothing is not equal") {
  const TemporaryFolder folder;
  const auto reference = contents_in(folder);
  auto other = reference;
  other.epochs.clear();
  CHECK_FALSE(drill::are_equal(drill::compare_runs(reference, other, 100)));
}

}  // namespace esper::test::run_comparison_test
