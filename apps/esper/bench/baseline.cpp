// `esper baseline`: reports of `esper bench`, kept by machine and scenario.
#include "history/baseline.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/text/text_file.h"
#include "esper/bench/bench_options.h"
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ExitCode;
using nlohmann::ordered_json;

constexpr const char* kFolder = "baselines/perf";
constexpr double kMostBudget = 10.0;
constexpr std::size_t kMostBytes = 64 << 20;

struct Kept {
  fs::path path;
  ordered_json report;
};

std::string as_given(const fs::path& path) { return path.lexically_normal().string(); }

// Throws Error: kConfig where there is no such file, kData where it is no whole report.
ordered_json read_report(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw Error(ExitCode::kConfig, "no baseline at " + as_given(path) + "; esper baseline list shows them");
  }
  const auto file = base::read_text_file(path, kMostBytes, base::Streams::kRefused);
  if (!file) throw Error(ExitCode::kData, fmt::format("the baseline {} {}", as_given(path), file.error()));
  if (file->size() > kMostBytes) {
    throw Error(ExitCode::kData, "the baseline " + as_given(path) + " is larger than 64 MiB");
  }
  auto report = ordered_json::parse(*file, nullptr, false);
  const auto whole = report.is_discarded() ? base::failure("it is not JSON") : history::check_report(report);
  if (whole) return report;
  throw Error(
      ExitCode::kData,
      fmt::format("the baseline {} is damaged or not a baseline: {}; recreate it with esper baseline save --replace",
                  as_given(path), whole.error()));
}

// Files <folder>/<machine>/<scenario>.json, sorted.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& machine : fs::directory_iterator(folder, ignored)) {
    if (!machine.is_directory()) continue;
    for (const auto& entry : fs::directory_iterator(machine.path(), ignored)) {
      if (entry.path().extension() == ".json") found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// A file's path, or "MACHINE/SCENARIO" in the folder.
fs::path resolve(const std::string& name, const std::string& folder) {
  if (fs::path(name).extension() == ".json") return name;
  return fs::path(folder) / (name + ".json");
}

ordered_json summary_of(const fs::path& path) {
  const auto report = read_report(path);
  return {{"path", path.string()},
          {"machine", path.parent_path().filename().string()},
          {"scenario", report.at("scenario")},
          {"time", report["environment"].at("now").at("time")},
          {"commit", report["environment"]["now"].at("commit")},
          {"workload", report["workload"].at("hash")},
          {"floor", report["noise"].at("floor")}};
}

// The damaged ones are reported after the others, and in the exit status.
int list(const std::string& folder, bool json) {
  ordered_json all = ordered_json::array(), damaged = ordered_json::array();
  for (const fs::path& path : files_in(folder)) {
    try {
      all.push_back(summary_of(path));
    } catch (const Error& error) {
      damaged.push_back({{"path", path.string()}, {"problem", error.what()}});
    }
  }
  const int status = static_cast<int>(damaged.empty() ? ExitCode::kDone : ExitCode::kData);
  if (json) {
    print_json(ordered_json{{"baselines", all}, {"damaged", damaged}});
    return status;
  }
  if (all.empty() && damaged.empty()) print_line("no baselines in " + folder + "; esper baseline save creates one");
  for (const auto& row : all) {
    print_line(row.at("machine").get<std::string>() + "/" + row.at("scenario").get<std::string>() + "  " +
               row.at("time").get<std::string>() + "  commit " + row.at("commit").get<std::string>());
  }
  for (const auto& row : damaged) report_error(ExitCode::kData, row.at("problem"), {}, Format::kText);
  return status;
}

int show(const fs::path& path, bool json) {
  const auto report = read_report(path);
  if (json) {
    print_json(report);
    return 0;
  }
  print_line(as_given(path));
  for (const auto& [key, value] : report["environment"].at("fingerprint").items())
    print_line("  " + key + ": " + value.dump());
  print_line("  workload: " + report["workload"].at("hash").get<std::string>());
  for (const auto& [name, value] : report["ratios"].items()) {
    print_line(fmt::format("{:<28} {:.4f}", name, value.get<double>()));
  }
  return 0;
}

int diff(const fs::path& before, const fs::path& after, bool json) {
  const auto difference = history::baseline_difference(read_report(before), read_report(after));
  if (json) {
    print_json(difference);
    return 0;
  }
  for (const auto& [name, row] : difference.at("ratios").items()) {
    print_line(fmt::format("{:<28} {:.4f} -> {:.4f}  ({:.3f} times)", name, row.at("before").get<double>(),
                           row.at("after").get<double>(), row.at("change").get<double>()));
  }
  return 0;
}

// The two that measure.
struct Measuring : BenchOptions {
  std::string folder = kFolder;
  bool replace = false;
  double budget = 0.05;
};

void refuse_without_rows(const Comparison& comparison) {
  if (!is_growth(comparison) && !is_policy(comparison)) return;
  throw Error(ExitCode::kConfig,
              fmt::format("scenario {0} has no lanes side by side, so there are no ratios to save or "
                          "compare; use esper bench --scenario {0}",
                          comparison.scenario));
}

int save_baseline(const Measuring& options) {
  const SaveBaselineRequest request{comparison_of(options), job_of(options), options.folder, options.replace};
  refuse_without_rows(request.comparison);
  return run_in_engine(request);
}

int check_baseline(const Measuring& options) {
  const CheckBaselineRequest request{comparison_of(options), job_of(options), options.folder, options.budget};
  refuse_without_rows(request.comparison);
  return run_in_engine(request);
}

void add_folder(CLI::App& command, std::string& folder) {
  command.add_option("--dir", folder, "Folder of the baselines")->type_name("DIR")->capture_default_str();
}

void add_measuring(CLI::App& baseline, Front& front) {
  CLI::App* save = add_command(baseline, "save", "Measure a scenario and save the report under this machine's name",
                               "esper baseline save --scenario mlp");
  const auto saving = std::make_shared<Measuring>();
  add_workload_options(*save, *saving, kFewestKeptRounds);
  add_folder(*save, saving->folder);
  save->add_flag("--replace", saving->replace, "Overwrite an existing baseline of this machine and scenario");
  save->callback([&front, saving] { front.run = [saving] { return save_baseline(*saving); }; });

  CLI::App* check = add_command(baseline, "check", "Measure a scenario and compare its ratios with the saved ones",
                                "esper baseline check --scenario mlp --budget 0.05\n"
                                "Exit code 0: nothing became slower; 1: something did; 75: the machine is too noisy");
  const auto checking = std::make_shared<Measuring>();
  add_workload_options(*check, *checking, kFewestKeptRounds);
  add_folder(*check, checking->folder);
  check->add_option("--budget", checking->budget, "Allowed slowdown; 0.05 is 5 %")
      ->type_name("SHARE")
      ->check(CLI::Range(0.001, kMostBudget))
      ->capture_default_str();
  check->callback([&front, checking] { front.run = [checking] { return check_baseline(*checking); }; });
}

struct Looking {
  std::string folder = kFolder, first, second;
  bool json = false;
};

void add_looking(CLI::App& baseline, Front& front) {
  const auto looking = std::make_shared<Looking>();
  CLI::App* all = add_command(baseline, "list", "List the baselines", "esper baseline list");
  add_folder(*all, looking->folder);
  add_json_flag(*all, looking->json);
  all->callback([&front, looking] { front.run = [looking] { return list(looking->folder, looking->json); }; });

  CLI::App* one = add_command(baseline, "show", "Print one baseline", "esper baseline show MACHINE/reference");
  one->add_option("baseline", looking->first, "MACHINE/SCENARIO, or a file")->required()->type_name("NAME");
  add_folder(*one, looking->folder);
  add_json_flag(*one, looking->json);
  one->callback([&front, looking] {
    front.run = [looking] { return show(resolve(looking->first, looking->folder), looking->json); };
  });

  CLI::App* two = add_command(baseline, "diff", "Compare the ratios of two baselines of one machine",
                              "esper baseline diff MACHINE/reference build/reference.json");
  two->add_option("before", looking->first, "MACHINE/SCENARIO, or a file")->required()->type_name("NAME");
  two->add_option("after", looking->second, "likewise")->required()->type_name("NAME");
  add_folder(*two, looking->folder);
  add_json_flag(*two, looking->json);
  two->callback([&front, looking] {
    front.run = [looking] {
      return diff(resolve(looking->first, looking->folder), resolve(looking->second, looking->folder), looking->json);
    };
  });
}

}  // namespace

void add_baseline(Front& front) {
  CLI::App* baseline =
      add_command(front.root, "baseline", "Save measured ratios and compare later measurements with them",
                  "esper baseline check --scenario reference");
  baseline->require_subcommand(1);
  add_measuring(*baseline, front);
  add_looking(*baseline, front);
}

}  // namespace esper
