#include "esper/front.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text/joined.h"
#include "base/text/nearest.h"

namespace esper {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 a difference was found (config diff, telemetry diff, topo diff, baseline check,\n"
    "            policy replay, verify-resume), a drill failed (drill), or a step is finite now (repro),\n"
    "            2 configuration or command line, 3 data, 4 diverged, 5 checkpoint, 6 resources, 7 policy, 70 bug,\n"
    "            75 try again later, 129/130/143 interrupted, 141 standard output was closed by its reader\n";

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

// Whether the option's value is the next word.
bool takes_value(const CLI::App& app, const std::string& option) {
  const CLI::Option* known = app.get_option_no_throw(option);
  return known != nullptr && known->get_items_expected_max() > 0;
}

// Whether the command is one without a further command, too: `esper sweep FILE` beside `esper sweep show 1`.
bool takes_word(const CLI::App& app) {
  return std::ranges::any_of(app.get_options(), [](const CLI::Option* option) { return option->get_positional(); });
}

// Down the tree of commands, as far as the words go.
struct Walk {
  const CLI::App* last;
  std::string path;
  std::string stranger;  // the word where it ended, if that names no command
};

Walk follow(const CLI::App& root, const std::vector<std::string>& words) {
  Walk walk{&root, root.get_name(), ""};
  bool is_value = false;
  for (const std::string& word : words) {
    const auto names = names_of(walk.last->get_subcommands({}));
    if (names.empty()) break;
    if (std::exchange(is_value, false)) continue;
    if (word.starts_with('-')) {
      is_value = takes_value(*walk.last, word);
      continue;
    }
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      if (!takes_word(*walk.last)) walk.stranger = word;
      break;
    }
    walk.last = walk.last->get_subcommand(word);
    walk.path += " " + word;
  }
  return walk;
}

}  // namespace

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& help, const std::string& example) {
  CLI::App* command = parent.add_subcommand(name, help);
  command->footer("Example: " + example + "\nExit codes: see esper --help\n");
  return command;
}

void build_front(Front& front) {
  CLI::App& root = front.root;
  root.name("esper");
  root.description("Esper trains a neural network and grows it during training.");
  root.footer(std::string("Example: esper train --config configs/run/digits.yaml\n") + kExitCodes);
  root.get_formatter()->column_width(32);
  root.option_defaults()->take_last();
  add_train(front);
  add_evaluate(front);
  add_predict(front);
  add_export(front);
  add_why_slow(front);
  add_blackbox(front);
  add_repro(front);
  CLI::App* config =
      add_command(root, "config", "Check, show and explain run files", "esper config check configs/run/digits.yaml");
  config->require_subcommand(1);
  add_config_check(*config, front);
  add_config_show(*config, front);
  add_config_explain(*config, front);
  add_config_schema(*config, front);
  add_config_diff(*config, front);
  CLI::App* data = add_command(root, "data", "Inspect data sets", "esper data show data/examples/table/houses.csv");
  data->require_subcommand(1);
  add_data_show(*data, front);
  CLI::App* telemetry = add_command(root, "telemetry", "List and compare the metrics and events that runs report",
                                    "esper telemetry list");
  telemetry->require_subcommand(1);
  add_telemetry_list(*telemetry, front);
  add_telemetry_diff(*telemetry, front);
  CLI::App* topo = add_command(root, "topo", "Show how a run's network grew, from its journal",
                               "esper topo show runs/digits-20260301-120000");
  topo->require_subcommand(1);
  add_topo_log(*topo, front);
  add_topo_show(*topo, front);
  add_topo_diff(*topo, front);
  add_runs(front);
  add_receipt(front);
  add_policy(front);
  add_import(front);
  add_fork(front);
  add_set(front);
  add_submit(front);
  add_jobs(front);
  add_job(front);
  add_sweep(front);
  add_logs(front);
  add_attach(front);
  add_daemon(front);
  add_bench(front);
  add_baseline(front);
  add_verify_resume(front);
  add_drill(front);
  add_doctor(front);
  add_completion(front);
}

std::vector<const CLI::App*> listed_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::string unknown_command(const CLI::App& root, const std::vector<std::string>& words) {
  const Walk walk = follow(root, words);
  if (walk.stranger.empty()) return "";
  const auto names = names_of(listed_commands(*walk.last));
  const auto close = base::nearest(walk.stranger, names);
  const std::string hint =
      close ? "; did you mean " + *close + "?" : fmt::format("; commands: {}", base::joined(names));
  return walk.path + " has no command \"" + walk.stranger + "\"" + hint;
}

std::vector<std::string> json_flag_last(std::vector<std::string> words) {
  const auto command = std::ranges::find_if(words, [](const auto& word) { return !word.starts_with('-'); });
  const auto first = std::ranges::find(words.begin(), command, "--json");
  if (command == words.end() || first == command) return words;
  const auto removed = std::remove(words.begin(), command, "--json");
  words.erase(removed, command);
  words.insert(std::ranges::find(words, "--"), "--json");
  return words;
}

std::string named_command(const CLI::App& root, const std::vector<std::string>& words) {
  return follow(root, words).path;
}

}  // namespace esper
