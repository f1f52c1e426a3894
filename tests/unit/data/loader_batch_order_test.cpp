// docs/batch_order.md promises numbers; the loader has to hand them out. tests/parity/batch_order.py computes them too.

#include <catch2/catch_test_macros.hpp>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/loading/loader.h"
#include "data/loading/placement.h"
#include "data/order/permutation.h"
#include "support/committed_file.h"
#include "support/loader_epoch.h"
#include "unit/data/test_files.h"

namespace esper::data::test::loader_batch_order_test {
namespace {

using nlohmann::json;

json page_vector() {
  const auto page = esper::test::read_text(std::filesystem::path(ESPER_SOURCE_DIR) / "docs/batch_order.md");
  const std::string begin = "<!-- test vector -->\n\n```json\n";
  const auto at = page.find(begin);
  REQUIRE(at != std::string::npos);
  const auto text = page.substr(at + begin.size());
  return json::parse(text.substr(0, text.find("\n```")));
}

std::vector<std::int64_t> numbers_of(const torch::Tensor& inputs) {
  const auto flat = inputs.flatten().to(torch::kInt64).contiguous();
  return {flat.const_data_ptr<std::int64_t>(), flat.const_data_ptr<std::int64_t>() + flat.numel()};
}

json batches_of(const Splits& splits, const LoaderConfig& config, std::int64_t epoch) {
  Loader loader(splits.train, splits.standardization, config);
  loader.seek(epoch, 0);
  json batches = json::array();
  for (const auto& batch : esper::test::rest_of_epoch(loader)) batches.push_back(numbers_of(batch.inputs));
  return batches;
}

std::string hex(std::uint64_t value) {
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << value;
  return text.str();
}

// Sample i is the number i.
Splits numbered_samples(const json& settings, double test_fraction = 0) {
  const TempFolder folder;
  std::string lines;
  for (int i = 0; i < settings["samples"].get<int>(); ++i) lines += std::to_string(i) + ",0\n";
  write_file(folder / "numbers.csv", lines);
  config::DataConfig data;
  data.kind = config::DataKind::kCsv;
  data.path = folder / "numbers.csv";
  data.standardize = false;
  data.split_seed = settings["split_seed"];
  data.validation_fraction = settings["validation_fraction"];
  data.max_samples = settings["max_samples"];
  data.test_fraction = test_fraction;
  return load_dataset(data, TestPart::kRead);
}

TEST_CASE("batches come in the order that docs/batch_order.md gives") {
  const json page = page_vector(), settings = page["settings"];
  const auto splits = numbered_samples(settings);
  CHECK(page["training"] == numbers_of(splits.train.inputs));
  CHECK(page["validation"] == numbers_of(splits.validation.inputs));
  for (const auto source : {Source::kThreads, Source::kResident}) {
    LoaderConfig config;
    config.batch_size = settings["batch_size"];
    config.seed = settings["seed"];
    config.source = source;
    for (const auto& [epoch, batches] : page["epochs"].items()) {
      CAPTURE(epoch);
      CHECK(batches == batches_of(splits, config, std::stoll(epoch)));
    }
  }
}

TEST_CASE("three parts are those of docs/batch_order.md") {
  const json page = page_vector(), parts = page["three_parts"];
  const auto splits = numbered_samples(page["settings"], 0.2);
  CHECK(parts["training"] == numbers_of(splits.train.inputs));
  CHECK(parts["validation"] == numbers_of(splits.validation.inputs));
  CHECK(parts["test"] == numbers_of(splits.test->inputs));
}

TEST_CASE("numbers, permutations and augmentation are those of docs/batch_order.md") {
  const json page = page_vector(), settings = page["settings"];
  const std::uint64_t seed = settings["seed"];
  CHECK(page["mix"] == json{hex(mix64(0)), hex(mix64(1))});
  CHECK(page["key"] == hex(key_of(seed, Stream::kShuffle, 5)));
  const auto& large = settings["large"];
  const auto order = Permutation::of_epoch(large["samples"], seed, large["epoch"]);
  json elements = json::array();
  for (const std::int64_t place : large["places"]) elements.push_back(order[place]);
  CHECK(page["large"] == elements);
  const config::AugmentConfig augment{settings["crop_padding"], true};
  for (const auto& [epoch, expected] : page["augmentation"].items()) {
    json places = json::array();
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(expected.size()); ++j) {
      const auto where = place(augment, placement_key(seed, std::stoll(epoch)), j);
      places.push_back({where.top, where.left, where.mirrored ? 1 : 0});
    }
    CHECK(expected == places);
  }
}

}  // namespace
}  // namespace esper::data::test::loader_batch_order_test
