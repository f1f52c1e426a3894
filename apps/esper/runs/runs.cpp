#include "esper/runs/runs.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/printable.h"
#include "base/text/text_outlet.h"
#include "config/run_config.h"
#include "runs/find_runs.h"
#include "runs/moment.h"

namespace esper {
namespace {

namespace fs = std::filesystem;

std::string default_root() { return config::RunConfig().runs_dir; }

[[noreturn]] void refuse_input(const std::string& text) { throw base::Error(base::ExitCode::kConfig, text); }

}  // namespace

void add_runs(Front& front) {
  CLI::App* runs = add_command(front.root, "runs", "List, compare and delete runs", "esper runs list --state finished");
  runs->require_subcommand(1);
  add_runs_list(*runs, front);
  add_runs_show(*runs, front);
  add_runs_history(*runs, front);
  add_runs_compare(*runs, front);
  add_runs_rm(*runs, front);
  add_runs_gc(*runs, front);
}

void add_roots_option(CLI::App& command, std::vector<std::string>& roots) {
  command.add_option("root", roots, "Folders to search for runs, four levels deep; default: " + default_root())
      ->type_name("ROOT")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_yes_flag(CLI::App& command, bool& yes) { command.add_flag("--yes", yes, "Delete without asking"); }

runs::Refreshed runs_below(const std::vector<std::string>& roots) {
  std::error_code ignored;
  if (roots.empty() && !fs::exists(default_root(), ignored)) return {};
  std::vector<std::string> missing;
  for (const auto& root : roots) {
    if (!fs::is_directory(root, ignored)) missing.push_back(base::in_quotes(root));
  }
  if (!missing.empty()) refuse_input("no such folder: " + base::joined(missing) + "; esper runs searches folders");
  return runs::refresh({}, roots.empty() ? std::vector{default_root()} : roots);
}

std::string run_folder_named(const std::string& given) {
  const std::string named = default_root() + "/" + given;
  const bool is_name = !given.empty() && given.find('/') == std::string::npos;
  std::error_code ignored;
  if (!fs::exists(given, ignored) && is_name && runs::is_run_folder(named)) return named;
  if (!given.empty() && runs::is_run_folder(given)) return given;
  const char* what = fs::exists(given, ignored) ? " is not a run folder" : " does not exist";
  refuse_input(base::in_quotes(given) + what + "; esper runs list prints those in " + default_root());
}

std::vector<runs::RunState> states_in(const std::string& text) {
  std::vector<runs::RunState> states;
  for (std::size_t from = 0; !text.empty() && from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const auto state = base::from_name<runs::RunState>(text.substr(from, comma - from));
    if (!state) {
      refuse_input("--state: " + base::in_quotes(text.substr(from, comma - from)) +
                   " is not a state; states: " + base::all_names<runs::RunState>());
    }
    states.push_back(*state);
    from = comma + 1;
  }
  return states;
}

std::int64_t age_in(const std::string& option, const std::string& text) {
  const auto age = runs::parse_age(text);
  if (!age) refuse_input(option + ": " + base::in_quotes(text) + " is not an age; write it like 12h, 7d or 2w");
  return *age;
}

std::int64_t now_ms() { return std::chrono::duration_cast<std::chrono::milliseconds>(base::Clock().wall()).count(); }

bool is_confirmed(const std::string& question) {
  if (isatty(STDIN_FILENO) == 0) refuse_input("nothing was deleted: to delete without being asked, add --yes");
  base::standard_error().write(base::printable(question) + " [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

}  // namespace esper
