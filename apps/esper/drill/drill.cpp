#include "drill/drill.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/scratch_folder.h"
#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "base/text/progress_line.h"
#include "drill/run_drill.h"
#include "drill/scorecard.h"
#include "drill/stop.h"
#include "esper/drill/output_file.h"
#include "esper/front.h"
#include "esper/own_program.h"
#include "esper/run_options.h"
#include "esper/version.h"

namespace esper {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ExitCode;

struct DrillOptions {
  std::vector<std::string> names;
  std::string folder = "configs/drill", config, output;
  bool list = false, keep = false, json = false;
};

// All drills of the folder, by name.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  if (files.empty()) {
    throw Error(ExitCode::kConfig, fmt::format("there are no drills in {}: name their folder with --drills DIR "
                                               "(Esper's own drills are in configs/drill of its source)",
                                               folder));
  }
  std::ranges::sort(files);
  return files;
}

std::string file_named(const std::string& name, const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const auto& file : files) {
    names.push_back(fs::path(file).stem());
    if (names.back() == name) return file;
  }
  const auto close = base::nearest(name, names);
  throw Error(ExitCode::kConfig,
              fmt::format("there is no drill \"{}\"{}", name,
                          close ? "; did you mean " + *close + "?" : "; drills: " + base::joined(names)));
}

std::vector<drill::Drill> chosen(const DrillOptions& options) {
  const auto files = files_in(options.folder);
  bool all = options.names.empty();
  std::vector<std::string> paths;
  for (const auto& name : options.names) {
    if (name == "all") {
      all = true;
      continue;
    }
    const auto path = file_named(name, files);
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
  }
  return drill::load_drills(all ? files : paths);
}

int list(const std::vector<drill::Drill>& drills, bool json) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& one : drills) {
    rows.push_back({{"name", one.name},
                    {"about", one.about},
                    {"run", one.run},
                    {"needs", base::name_of(one.needs)},
                    {"faults", one.faults}});
    if (!json) print_line(fmt::format("{:<28} {}", one.name, one.about));
  }
  if (json) print_json({{"drills", rows}});
  return 0;
}

// So that a wrong one is reported before anything is trained.
void require_run_file(const drill::Drill& one, const std::string& config) {
  const auto of_drill = [&one](base::Problem problem) {
    problem = drill::at_own_place(std::move(problem), one);
    problem.text += fmt::format(" (drill {})", one.name);
    return problem;
  };
  try {
    load_for_training({config.empty() ? one.run : config, one.set});
  } catch (const base::ConfigError& error) {
    auto problems = error.problems();
    std::ranges::transform(problems, problems.begin(), of_drill);
    throw base::ConfigError(std::move(problems));
  } catch (const base::MissingResource& error) {
    throw base::MissingResource(of_drill(error.problem()));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} (drill {})", error.what(), one.name));
  }
}

int carry_out(const std::vector<drill::Drill>& drills, const DrillOptions& options) {
  base::ScratchFolder scratch("esper-drill");
  const drill::DrillSetup setup{own_program(), scratch.path(), options.config, has_cuda_side()};
  for (const auto& one : drills) {
    if (drill::missing_requirement(one, setup).empty()) require_run_file(one, options.config);
  }
  if (!options.output.empty()) refuse_unwritable(options.output);
  const drill::Stop stop;
  drill::References references(scratch.path());
  std::vector<drill::DrillResult> results;
  try {
    for (const auto& one : drills) {
      base::show_progress("drill", fmt::format("{} ({} of {})", one.name, results.size() + 1, drills.size()));
      results.push_back(drill::run_drill(one, setup, references));
    }
  } catch (const Error& error) {  // stopped by the user
    base::end_progress();
    if (!options.keep && drill::none_failed(results)) throw;
    scratch.keep();
    throw Error(error.code(), fmt::format("{}; the runs so far are kept in {}:\n{}", error.what(), scratch.path(),
                                          drill::scorecard_text(results)));
  }
  base::end_progress();
  const bool keeps = options.keep || !drill::none_failed(results);
  if (keeps) scratch.keep();
  const auto document = drill::scorecard(results, build_name(), keeps ? scratch.path() : "");
  const int written = write_and_print(options.output, document, options.json ? Format::kJson : Format::kText, [&] {
    print(drill::scorecard_text(results));
    if (keeps) print_line("runs: " + scratch.path());
  });
  if (written != 0) return written;
  return drill::none_failed(results) ? 0 : kDiffers;
}

}  // namespace

void add_drill(Front& front) {
  CLI::App* command =
      add_command(front.root, "drill", "Inject faults into trainings, and check the outcome",
                  "esper drill --list\n         esper drill all\n"
                  "         esper drill disk_full sigterm_saving --config my_run.yaml\n"
                  "Runs are scratch copies. Exit code 0: every outcome was as expected; 1: some were not, and\n"
                  "the runs are kept. What a drill is: docs/drills.md");
  const auto options = std::make_shared<DrillOptions>();
  command->add_option("names", options->names, "Drills; default: all")->type_name("NAME");
  command->add_option("--drills", options->folder, "Folder of the drills; default: configs/drill")
      ->type_name("DIR")
      ->check(refuse_empty);
  command->add_option("--config", options->config, "Run file to train instead of the drills' own")
      ->type_name("FILE")
      ->check(refuse_empty);
  command->add_option("--output", options->output, "Also write the scorecard to this file, as JSON")
      ->type_name("FILE")
      ->check(refuse_empty);
  command->add_flag("--list", options->list, "List the drills, and train nothing");
  command->add_flag("--keep", options->keep, "Keep the runs, and print their folder");
  add_json_flag(*command, options->json);
  command->callback([&front, options] {
    front.run = [options] {
      const auto drills = chosen(*options);
      return options->list ? list(drills, options->json) : carry_out(drills, *options);
    };
  });
}

}  // namespace esper
