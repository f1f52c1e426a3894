#include "sweep/sweep_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/names.h"
#include "config/facts/metric_facts.h"
#include "sweep/expand.h"
#include "sweep/halving.h"
#include "sweep/run_file.h"
#include "sweep/sweep_reader.h"

namespace esper::sweep {

using base::Problem;
using config::YamlDocument;

namespace {

// What is read of a sweep file, step by step; each may add problems.
class SweepFile {
 public:
  SweepFile(LoadedSweep& out, std::string file, std::size_t most_checked)
      : out_(out),
        settings_(out.sweep.settings),
        reader_(out.sweep, out.problems),
        file_(std::move(file)),
        most_checked_(most_checked) {}

  void read(const YamlDocument& document) {
    out_.problems = document.problems;
    reader_.read(document.root);
    if (document.root.kind != config::YamlNode::Kind::kMap) return;
    check_given();
    check_name();
    const auto run = run_file();
    sort_problems();
    if (run) take(*run);
  }

 private:
  bool is_given(const std::string& path) const { return reader_.is_given(path); }

  void check_given() {
    if (!is_given("parameters")) {
      reader_.report("parameters",
                     "is missing; name fields of the run file with values, like training.optimizer.lr: "
                     "[0.1, 0.01]");
    }
    const bool draws = settings_.method != Method::kGrid;
    if (draws && !is_given("samples")) {
      reader_.report("samples", fmt::format("method: {} needs the number of configurations to draw, like samples: 20",
                                            base::name_of(settings_.method)));
    }
    for (const char* path : {"samples", "seed"}) {
      if (!draws && is_given(path)) {
        reader_.report(path, "a grid has every combination and draws none; remove this line, or write method: random");
      }
    }
    if (is_given("halving") && settings_.method != Method::kHalving) {
      reader_.report("halving", fmt::format("has no effect with method: {}; remove this section, or write method: "
                                            "halving",
                                            base::name_of(settings_.method)));
    }
  }

  // As that of a run.
  void check_name() {
    config::RunConfig config;
    config.name = settings_.name;
    config::Findings findings;
    config.validate(findings);
    for (const auto& finding : findings) {
      if (finding.path == "name") reader_.report("name", finding.text);
    }
  }

  std::optional<config::RunConfig> run_file() {
    if (settings_.config.empty()) {
      reader_.report("config", "is missing; name the run file, relative to the folder of this one");
      return std::nullopt;
    }
    if (out_.sweep.run_text) {
      auto stored = read_with(out_.sweep, {});
      run_problems_ = std::move(stored.problems);
      return std::move(stored.config);
    }
    settings_.config = (std::filesystem::path(file_).parent_path() / settings_.config).string();
    auto loaded = read_run_file(settings_.config);
    if (!loaded) {
      reader_.report("config", loaded.error() + "; name a run file, relative to the folder of this one");
      return std::nullopt;
    }
    run_problems_ = std::move(loaded->problems);
    return std::move(loaded->config);
  }

  void sort_problems() {
    std::ranges::stable_sort(
        out_.problems, {}, [](const Problem& problem) { return std::pair(problem.place.line, problem.place.column); });
    out_.problems.insert(out_.problems.end(), run_problems_.begin(), run_problems_.end());
  }

  void take(const config::RunConfig& run) {
    if (!out_.problems.empty()) return;
    if (!is_given("metric")) settings_.metric = run.training.metric;
    if (!is_given("goal")) settings_.goal = config::goal_of(settings_.metric);
    if (out_.sweep.seeds.empty()) out_.sweep.seeds = {run.seed};
    if (!is_given("halving.max_epochs")) settings_.halving.max_epochs = run.epochs;
    if (settings_.method == Method::kHalving) check_rungs();
    check_jobs();
    if (!out_.problems.empty() || most_checked_ == 0) return;
    auto all = configurations(out_.sweep);
    warn(all.size());
    if (all.size() > most_checked_) all.resize(most_checked_);
    auto checked = check_configurations(
        out_.sweep, all, {reader_.place_of("parameters"), reader_.place_of("metric"), reader_.place_of("method")});
    out_.problems = std::move(checked.problems);
    std::ranges::move(checked.warnings, std::back_inserter(out_.warnings));
  }

  void check_rungs() {
    const HalvingConfig& halving = settings_.halving;
    if (halving.max_epochs / halving.factor >= halving.min_epochs) return;
    reader_.report("halving", fmt::format("one rung only: max_epochs ({}{}) must be at least factor ({}) times "
                                          "min_epochs ({})",
                                          halving.max_epochs, is_given("halving.max_epochs") ? "" : ", the run file's",
                                          halving.factor, halving.min_epochs));
  }

  void check_jobs() {
    const auto combinations = num_combinations(out_.sweep);
    std::uint64_t count = settings_.method == Method::kGrid
                              ? combinations.value_or(SweepLimits::kJobs + 1)
                              : std::min<std::uint64_t>(settings_.samples, combinations.value_or(settings_.samples));
    const std::uint64_t seeds = out_.sweep.seeds.size();
    if (count <= SweepLimits::kJobs / seeds) return;
    const std::string configurations_text =
        combinations || settings_.method != Method::kGrid ? std::to_string(count) : "more than 2^63";
    reader_.report("parameters", fmt::format("{} configurations with {} seed{} each are more than the {} jobs that a "
                                             "sweep may have; give fewer, or method: random with samples",
                                             configurations_text, seeds, seeds == 1 ? "" : "s", SweepLimits::kJobs));
  }

  void warn(std::size_t count) {
    const auto wanted = static_cast<std::size_t>(settings_.samples);
    if (settings_.method != Method::kGrid && count < wanted) {
      out_.warnings.push_back({reader_.place_of("samples"), "samples",
                               fmt::format("the parameters have {} different configurations, so {} are trained "
                                           "instead of {}",
                                           count, count, wanted)});
    }
    if (settings_.method != Method::kHalving) return;
    const auto rules = halving_rules(out_.sweep);
    const std::size_t needed = fewest_for_last_rung(rules);
    if (count >= needed) return;
    out_.warnings.push_back(
        {reader_.place_of("samples"), "samples",
         fmt::format("no configuration reaches the last rung, of {} epochs: {} are needed for that, and there are {}",
                     rules.rungs.back(), needed, count)});
  }

  LoadedSweep& out_;
  SweepSettings& settings_;
  SweepReader reader_;
  std::string file_;
  std::size_t most_checked_;
  std::vector<Problem> run_problems_;
};

LoadedSweep read_document(const YamlDocument& document, const std::string& file) {
  LoadedSweep out;
  SweepFile(out, file, SweepLimits::kJobs).read(document);
  return out;
}

}  // namespace

LoadedSweep read_sweep(const std::string& path) { return read_document(config::read_yaml(path), path); }

LoadedSweep read_sweep_text(std::string_view text, const std::string& file) {
  return read_document(config::parse_yaml(text, file), file);
}

LoadedSweep read_stored_sweep(const SweepTexts& texts, std::size_t most_checked) {
  static const std::string kName = "sweep";  // what places show
  LoadedSweep out;
  out.sweep.run_text = std::string(texts.run_file);
  SweepFile(out, kName, most_checked).read(config::parse_yaml(texts.sweep, kName));
  return out;
}

}  // namespace esper::sweep
