#pragma once
// A sweep: one run file, trained again and again with other values of some of its fields. Plain data.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text/problem.h"
#include "config/field.h"
#include "config/goal.h"
#include "config/training_config.h"

namespace esper::sweep {

struct SweepLimits {
  static constexpr std::size_t kJobs = 10'000;  // configurations times seeds
  static constexpr std::size_t kParameters = 64;
  static constexpr std::size_t kValues = 1'000;  // of one parameter
};

enum class Method { kGrid, kRandom, kHalving };
constexpr auto names(Method) {
  return std::array{std::pair{Method::kGrid, "grid"}, std::pair{Method::kRandom, "random"},
                    std::pair{Method::kHalving, "halving"}};
}

using config::Goal;

// Successive halving (halving.h).
struct HalvingConfig {
  int min_epochs = 1;
  int factor = 3;
  int max_epochs = 0;

  template <class = void>
  static constexpr auto fields() {
    using C = HalvingConfig;
    return std::tuple{
        config::field("min_epochs", &C::min_epochs, "epochs of every configuration", config::between(1, 1e6)),
        config::field("factor", &C::factor,
                      "one in this many configurations continues, with this many times the epochs",
                      config::between(2, 1000)),
        config::field("max_epochs", &C::max_epochs, "epochs of the last ones; default: the run file's epochs",
                      config::between(1, 1e6))};
  }
};

// The fields of a sweep file, but for `seeds` and `parameters`.
struct SweepSettings {
  std::string name = "sweep";
  std::string config;  // once read: with the sweep file's folder
  Method method = Method::kGrid;
  int samples = 0;
  std::uint64_t seed = 1;
  config::Metric metric = config::Metric::kAccuracy;
  Goal goal = Goal::kMaximize;
  HalvingConfig halving;
  int max_running = 0;

  template <class = void>
  static constexpr auto fields() {
    using C = SweepSettings;
    using config::field;
    return std::tuple{
        field("name", &C::name, "letters, digits, '.', '_', '-'"),
        field("config", &C::config, "the run file, relative to this file"),
        field("method", &C::method, "grid, random or halving"),
        field("samples", &C::samples, "random, halving: number of configurations to draw",
              config::between(1, SweepLimits::kJobs)),
        field("seed", &C::seed, "random, halving: seed of the draw"),
        field("metric", &C::metric, "the validation metric to compare by; default: the run file's training.metric"),
        field("goal", &C::goal, "default: minimize losses and errors, maximize the others"),
        field("halving", &C::halving, "when configurations are compared and how many continue"),
        field("max_running", &C::max_running, "jobs of this sweep that run at the same time; 0: no limit of its own",
              config::between(0, SweepLimits::kJobs))};
  }
};

// Numbers from min to max, both included.
struct Range {
  enum class Scale { kLinear, kLog };
  enum class Numbers { kReal, kWhole };
  double min = 0, max = 0;  // whole ones: at most 2^53 from zero
  Scale scale = Scale::kLinear;
  Numbers numbers = Numbers::kReal;
};
constexpr auto names(Range::Scale) {
  return std::array{std::pair{Range::Scale::kLinear, "linear"}, std::pair{Range::Scale::kLog, "log"}};
}

// A field of the run file with values or a range.
struct Parameter {
  std::string key;                  // dotted: "training.optimizer.lr"
  std::vector<std::string> values;  // as a run file has them; without a range
  std::optional<Range> range;
  base::Place place;                      // of the key
  std::vector<base::Place> value_places;  // of each value
};

struct Sweep {
  SweepSettings settings;
  // The run file's text, of a sweep that was stored with it. None: the file of settings.config is read.
  std::optional<std::string> run_text;
  std::vector<std::uint64_t> seeds;
  std::vector<Parameter> parameters;
};

}  // namespace esper::sweep
