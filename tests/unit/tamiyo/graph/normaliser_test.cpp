#include "tamiyo/graph/normaliser.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace esper::tamiyo::normaliser_test {
namespace {

using Catch::Approx;
using nlohmann::json;

Samples losses(std::initializer_list<double> values) {
  Samples samples{};
  for (const double value : values) samples[static_cast<std::size_t>(Statistic::kLoss)].add(value);
  return samples;
}

const Moments& loss_of(const Normaliser& normaliser) {
  return normaliser.moments[static_cast<std::size_t>(Statistic::kLoss)];
}

TEST_CASE("a normaliser starts from its priors") {
  const Normaliser normaliser;
  CHECK(loss_of(normaliser).mean == 0.8);
  CHECK(loss_of(normaliser).variance == Approx(0.09));
  CHECK(normaliser.normalised(Statistic::kSamplesPerS, 5000) == Approx(1));
  CHECK(normaliser.normalised(Statistic::kHookLatencyMs, 12) == Approx(0));
  // What is taken as a logarithm has the prior of the logarithm: 100 steps, 40 of which are 40 / 101 of its unit.
  CHECK(normaliser.normalised(Statistic::kGlobalStep, std::log1p(100)) == Approx(0).margin(1e-12));
  CHECK(normaliser.normalised(Statistic::kGlobalStep, std::log1p(100) + 40.0 / 101) == Approx(1));
}

TEST_CASE("the statistics have names of their own") {
  std::set<std::string_view> names;
  for (const auto& prior : priors()) {
    CHECK_FALSE(prior.name.empty());
    CHECK(prior.deviation > 0);
    names.insert(prior.name);
  }
  CHECK(names.size() == kStatistics);
  CHECK(prior_of(Statistic::kParameterDefault).name == "parameter_default");
  CHECK(prior_of(Statistic::kLayerParameterCount).name == "layer_parameter_count");
  CHECK(prior_of(Statistic::kSeedAge).name == "seed_age");
}

TEST_CASE("one value moves mean and variance by a tenth") {
  Normaliser normaliser;
  normaliser.update(losses({1.8}));
  CHECK(loss_of(normaliser).mean == Approx(0.9));
  CHECK(loss_of(normaliser).variance == Approx(0.9 * (0.09 + 0.1 * 1.0)));
  CHECK(normaliser.normalised(Statistic::kLoss, 1.8) == Approx(0.9 / std::sqrt(0.171)));
}

TEST_CASE("the values of one observation count together as one") {
  Normaliser normaliser;
  normaliser.update(losses({1, 3}));
  CHECK(loss_of(normaliser).mean == Approx(0.9 * 0.8 + 0.1 * 2));
  CHECK(loss_of(normaliser).variance == Approx(0.9 * (0.09 + 0.1 * 1.44) + 0.1 * 1));
}

TEST_CASE("a statistic without a value is unchanged") {
  Normaliser normaliser;
  normaliser.update(losses({}));
  CHECK(normaliser == Normaliser());
  normaliser.update(losses({5}));
  CHECK(normaliser.moments[static_cast<std::size_t>(Statistic::kSeedRisk)] ==
        Normaliser().moments[static_cast<std::size_t>(Statistic::kSeedRisk)]);
}

TEST_CASE("a value that never changes leaves the least variance") {
  Normaliser normaliser;
  for (int i = 0; i < 1000; ++i) normaliser.update(losses({2}));
  CHECK(loss_of(normaliser).variance == Normaliser::kLeastVariance);
  CHECK(std::abs(normaliser.normalised(Statistic::kLoss, 2)) < 1e-6);
}

TEST_CASE("a normaliser is saved to the last bit") {
  Normaliser normaliser;
  for (const double loss : {1.0 / 3, 2.0 / 7, 1e9}) normaliser.update(losses({loss}));
  const auto text = normaliser_json(normaliser).dump();
  const auto read = read_normaliser(json::parse(text));
  REQUIRE(read);
  CHECK(*read == normaliser);
}

TEST_CASE("what is no normaliser is rejected with the reason") {
  const auto error_of = [](const json& saved) { return read_normaliser(saved).error(); };
  const auto with_loss = [](const json& loss) {
    auto saved = normaliser_json({});
    saved["loss"] = loss;
    return saved;
  };
  CHECK(error_of(json::array()) == "the normaliser must be an object");
  auto lacking = normaliser_json({});
  lacking.erase("seed_age");
  CHECK(error_of(lacking) == "the normaliser lacks seed_age");
  auto more = normaliser_json({});
  more["color"] = {0, 1};
  CHECK(error_of(more) == "the normaliser has names that are not known");
  CHECK(error_of(with_loss("large")) == "the normaliser's loss must be [mean, variance]");
  CHECK(error_of(with_loss({1, 2, 3})) == "the normaliser's loss must be [mean, variance]");
  CHECK(error_of(with_loss({1, nullptr})) == "the normaliser's loss must be [mean, variance]");
  CHECK(error_of(with_loss({INFINITY, 1})) == "the normaliser's loss must be finite");
  CHECK(error_of(with_loss({1, 0})) == "the normaliser's loss must have a variance >= 1e-06");
  const std::string limits = "the normaliser's loss must have a mean within +-1e+10 and a variance <= 1e+20";
  CHECK(error_of(with_loss({1e300, 1})) == limits);
  CHECK(error_of(with_loss({-1e11, 1})) == limits);
  CHECK(error_of(with_loss({1, 1e300})) == limits);
}

TEST_CASE("the largest values that are observed, in turn, lead to figures that are read again") {
  Normaliser normaliser;
  for (int i = 0; i < 1000; ++i) {
    normaliser.update(losses({i % 2 == 0 ? 1e9 : -1e9, -1e9}));
    REQUIRE(read_normaliser(normaliser_json(normaliser)).has_value());
  }
}

}  // namespace
}  // namespace esper::tamiyo::normaliser_test
