#include "sweep/run_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/text_file.h"
#include "config/facts/metric_facts.h"
#include "config/loading/assignment.h"
#include "config/loading/document_loader.h"
#include "config/loading/training_check.h"
#include "config/writing/free_fields.h"
#include "config/writing/write.h"

namespace esper::sweep {

using base::joined;
using base::Place;
using base::Problem;
using config::LoadedConfig;

namespace {

constexpr std::size_t kMostProblems = 20;

class ConfigurationCheck {
 public:
  ConfigurationCheck(const Sweep& sweep, const SweepPlaces& places) : sweep_(sweep), places_(places) {}

  bool has_room() const { return out_.problems.size() < kMostProblems; }
  CheckedConfigurations take() { return std::move(out_); }

  void check(const Configuration& configuration) {
    const auto assignments = assignments_of(sweep_, configuration);
    LoadedConfig loaded = read_with(sweep_, assignments);
    config::check_for_training(loaded);
    for (const Problem& problem : loaded.problems) add(problem, configuration, assignments);
    for (const Problem& warning : loaded.warnings) warn(warning, configuration, assignments);
    if (!loaded.problems.empty()) return;
    check_figures(loaded.config, assignments);
    warn_of_growth(loaded.config);
  }

 private:
  void check_figures(const config::RunConfig& config, const std::vector<std::string>& assignments) {
    const auto figures = config::metrics_of(config.task);
    if (std::ranges::find(figures, sweep_.settings.metric) == figures.end()) {
      report({places_.metric, "metric",
              fmt::format("runs of task {} have no {}; their figures: {}", base::name_of(config.task),
                          base::name_of(sweep_.settings.metric),
                          joined(figures, ", ", [](config::Metric one) { return base::name_of(one); }))},
             assignments);
    }
    if (sweep_.settings.method == Method::kHalving && config::epochs_are_fixed(config)) {
      report({places_.method, "method",
              "halving continues runs with more epochs, but how this run trains depends on its last epoch: a cosine "
              "schedule that ends with it (of seeds, too), or germinations at a percentage of it; set "
              "training.schedule.total_steps or another schedule, or method: random"},
             assignments);
    }
  }

  void warn_of_growth(const config::RunConfig& config) {
    const bool grows = config.growth.enabled && config.policy.deciding() != config::PolicyKind::kNone;
    if (sweep_.settings.method != Method::kHalving || !grows) return;
    const std::string text =
        "a run that grows ends at each rung: nothing germinates there, and its unfinished seeds become part of the "
        "host or are removed, so a run of the best configuration without rungs grows otherwise and may end with "
        "another figure; method: random trains each configuration in one go";
    if (warned_.insert({"method", text}).second) out_.warnings.push_back({places_.method, "method", text});
  }

  void add(const Problem& problem, const Configuration& configuration, const std::vector<std::string>& assignments) {
    if (auto placed = in_sweep_file(problem, configuration, assignments)) return report(*placed, assignments);
    // Of two fields that do not fit, the run file gives one: the sweep gives the other.
    report({places_.parameters, "parameters", to_string(problem)}, assignments);
  }

  // Of a value that the run file gives, as training reports it.
  void warn(const Problem& warning, const Configuration& configuration, const std::vector<std::string>& assignments) {
    if (!warned_.insert({warning.path, warning.text}).second) return;
    out_.warnings.push_back(in_sweep_file(warning, configuration, assignments).value_or(warning));
  }

  // None where the sweep file does not give the value.
  std::optional<Problem> in_sweep_file(const Problem& problem, const Configuration& configuration,
                                       const std::vector<std::string>& assignments) const {
    for (std::size_t i = 0; i < assignments.size(); ++i) {
      if (problem.place.file != config::assignment_origin(assignments[i])) continue;
      return Problem{place_of(sweep_.parameters[i], configuration[i]), "parameters." + problem.path, problem.text};
    }
    return std::nullopt;
  }

  static Place place_of(const Parameter& parameter, const std::string& value) {
    const auto found = std::ranges::find(parameter.values, value);
    const auto index = static_cast<std::size_t>(found - parameter.values.begin());
    return index < parameter.value_places.size() ? parameter.value_places[index] : parameter.place;
  }

  void report(Problem problem, const std::vector<std::string>& assignments) {
    const auto key = std::tuple(problem.place.line, problem.place.column, problem.path, problem.text);
    if (!has_room() || !known_.insert(key).second) return;
    problem.text += " (with " + joined(assignments) + ")";
    out_.problems.push_back(std::move(problem));
  }

  const Sweep& sweep_;
  const SweepPlaces& places_;
  std::set<std::tuple<int, int, std::string, std::string>> known_;
  std::set<std::pair<std::string, std::string>> warned_;  // path and text
  CheckedConfigurations out_;
};

std::string resolved(const Sweep& sweep, const std::vector<std::string>& assignments) {
  auto loaded = read_with(sweep, assignments);
  if (!loaded.problems.empty()) throw base::ConfigError(std::move(loaded.problems));
  return config::resolved_yaml(loaded.config);
}

}  // namespace

base::Expected<LoadedConfig> read_run_file(const std::string& path) {
  const auto file = base::read_text_file(path, config::YamlLimits::kBytes, base::Streams::kRefused);
  if (!file) return base::failure(path + " " + file.error());
  LoadedConfig unused;
  const config::DocumentLoader loader(unused, path);
  if (const auto line = loader.foreign_line(config::parse_yaml(*file, path))) {
    const std::string place = *line > 0 ? fmt::format(" (line {})", *line) : "";
    return base::failure(path + " is not a run file" + place + "; if it is meant to be one: esper config check " +
                         path);
  }
  return config::read_run_config(path);
}

std::string run_file_text(const LoadedConfig& run_file) {
  const std::string given = config::given_yaml(
      run_file.config, [&](std::string_view path) { return run_file.origins.contains(std::string(path)); });
  return given.empty() ? "{}\n" : given;
}

LoadedConfig read_with(const Sweep& sweep, const std::vector<std::string>& assignments) {
  const std::string& path = sweep.settings.config;
  return sweep.run_text ? config::read_run_config_text(*sweep.run_text, path, assignments)
                        : config::read_run_config(path, assignments);
}

std::string trial_run_file(const Sweep& sweep, const Configuration& configuration, std::uint64_t seed,
                           std::optional<int> epochs) {
  auto assignments = assignments_of(sweep, configuration);
  assignments.push_back(fmt::format("seed={}", seed));
  if (epochs) assignments.push_back(fmt::format("epochs={}", *epochs));
  return resolved(sweep, assignments);
}

CheckedConfigurations check_configurations(const Sweep& sweep, const std::vector<Configuration>& configurations,
                                           const SweepPlaces& places) {
  ConfigurationCheck check(sweep, places);
  for (const Configuration& configuration : configurations) {
    if (!check.has_room()) break;
    check.check(configuration);
  }
  return check.take();
}

std::string best_run_file(const Sweep& sweep, std::size_t configuration) {
  const auto all = configurations(sweep);
  ESPER_CHECK(configuration < all.size(), "no such configuration");
  auto assignments = assignments_of(sweep, all[configuration]);
  if (sweep.settings.method == Method::kHalving) {
    assignments.push_back("epochs=" + std::to_string(sweep.settings.halving.max_epochs));
  }
  return resolved(sweep, assignments);
}

}  // namespace esper::sweep
