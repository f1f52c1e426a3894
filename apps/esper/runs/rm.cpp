// `esper runs rm`
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/text/joined.h"
#include "base/text/text_outlet.h"
#include "esper/run_options.h"
#include "esper/runs/run_text.h"
#include "esper/runs/runs.h"
#include "runs/read_run_record.h"
#include "runs/remove_run.h"

namespace esper {
namespace {

using nlohmann::ordered_json;
using runs::RunRecord;

struct RunsRmOptions {
  std::vector<std::string> runs;
  bool yes = false, json = false;
};

// All of them, or a problem for each that cannot be deleted: then nothing is.
std::vector<RunRecord> records_to_delete(const std::vector<std::string>& given) {
  std::vector<RunRecord> records;
  std::vector<std::string> problems;
  std::set<std::filesystem::path> folders;
  for (const auto& run : given) {
    const std::string folder = run_folder_named(run);
    try {
      RunRecord record = runs::read_run_record(folder);
      if (const auto checked = runs::check_removable(folder); !checked) {
        problems.push_back(checked.error());
      } else if (record.state == runs::RunState::kRunning) {
        problems.push_back(record.path + " is running; stop it first");
      } else if (folders.insert(std::filesystem::canonical(folder)).second) {  // else it was named twice
        records.push_back(std::move(record));
      }
    } catch (const base::Error& error) {
      problems.emplace_back(error.what());
    } catch (const std::filesystem::filesystem_error& error) {
      problems.emplace_back(error.what());
    }
  }
  if (problems.empty()) return records;
  throw base::Error(base::ExitCode::kConfig, "nothing was deleted: " + base::joined(problems, "\n"));
}

void print_deleted(const ordered_json& deleted, std::uint64_t bytes, const std::vector<std::string>& problems) {
  print_json({{"deleted", deleted}, {"bytes", bytes}, {"problems", problems}});
}

int rm_runs(const RunsRmOptions& options) {
  const auto records = records_to_delete(options.runs);
  std::uint64_t bytes = 0, deleted_bytes = 0;
  std::string question;
  for (const RunRecord& record : records) {
    bytes += record.bytes;
    question += fmt::format("{}, {}\n", record.path, bytes_text(record.bytes));
  }
  question +=
      records.size() == 1 ? "delete it?" : fmt::format("delete these {} runs, {}?", records.size(), bytes_text(bytes));
  if (!options.yes && !is_confirmed(question)) {
    if (options.json) {
      print_deleted(ordered_json::array(), 0, {});
    } else {
      print("nothing was deleted\n");
    }
    return 0;
  }
  ordered_json deleted = ordered_json::array();
  std::vector<std::string> problems;
  for (const RunRecord& record : records) {
    const auto removed = runs::remove_run(record.path, record.stamp);
    if (!removed) {
      problems.push_back(removed.error());
      continue;
    }
    deleted.push_back(record.path);
    deleted_bytes += record.bytes;
    if (!options.json) print_line("deleted " + record.path);
  }
  if (!problems.empty()) base::print_failure(base::joined(problems, "\n"));
  if (options.json) print_deleted(deleted, deleted_bytes, problems);
  return problems.empty() ? 0 : static_cast<int>(base::ExitCode::kResources);
}

}  // namespace

void add_runs_rm(CLI::App& runs, Front& front) {
  CLI::App* command = add_command(runs, "rm", "Delete run folders, with their checkpoints",
                                  "esper runs rm runs/digits-20260301-120000 --yes");
  const auto options = std::make_shared<RunsRmOptions>();
  command->add_option("run", options->runs, "Run folders, or their names in the default folder; none may be running")
      ->required()
      ->type_name("RUN")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_yes_flag(*command, options->yes);
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return rm_runs(*options); }; });
}

}  // namespace esper
