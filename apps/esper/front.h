#pragma once
// The commands of the front. Each add_ function puts one command, with its options, under a parent; when the command
// line asks for it, it leaves in `run` what is to be done.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace esper {

struct Front {
  CLI::App& root;
  std::function<int()> run;  // returns the exit code
};

void add_train(Front& front);
void add_evaluate(Front& front);
void add_import(Front& front);
void add_predict(Front& front);
void add_export(Front& front);
void add_fork(Front& front);
void add_set(Front& front);
void add_receipt(Front& front);
void add_topo_log(CLI::App& topo, Front& front);
void add_topo_show(CLI::App& topo, Front& front);
void add_topo_diff(CLI::App& topo, Front& front);
void add_runs(Front& front);
void add_policy(Front& front);
void add_policy_compare(CLI::App& policy, Front& front);
void add_policy_serve(CLI::App& policy, Front& front);
void add_policy_imitate(CLI::App& policy, Front& front);
void add_policy_show(CLI::App& policy, Front& front);
void add_why_slow(Front& front);
void add_blackbox(Front& front);
void add_repro(Front& front);
void add_bench(Front& front);
void add_baseline(Front& front);
void add_data_show(CLI::App& data, Front& front);
void add_daemon(Front& front);
void add_submit(Front& front);
void add_jobs(Front& front);
void add_job(Front& front);
void add_sweep(Front& front);
void add_logs(Front& front);
void add_attach(Front& front);
void add_verify_resume(Front& front);
void add_drill(Front& front);
void add_doctor(Front& front);
void add_completion(Front& front);
void add_config_check(CLI::App& config, Front& front);
void add_config_show(CLI::App& config, Front& front);
void add_config_explain(CLI::App& config, Front& front);
void add_config_schema(CLI::App& config, Front& front);
void add_config_diff(CLI::App& config, Front& front);
void add_telemetry_list(CLI::App& telemetry, Front& front);
void add_telemetry_diff(CLI::App& telemetry, Front& front);

// The whole command line, without what it does.
void build_front(Front& front);

// A subcommand with an example in its help.
CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& help, const std::string& example);

// The words of a command line with a --json before the command moved behind it: `esper --json doctor` is `esper doctor
// --json`, since each command has the flag itself. Unchanged where no command follows.
std::vector<std::string> json_flag_last(std::vector<std::string> words);

// The command that the words name, as far as there is one: "esper config check".
std::string named_command(const CLI::App& root, const std::vector<std::string>& words);

// The commands below `app` that users see: no help, completion or suggestion has those in a group without a name.
std::vector<const CLI::App*> listed_commands(const CLI::App& app);

// For a command line with a word where a command belongs that is none: what to say. Empty if there is no such word.
std::string unknown_command(const CLI::App& root, const std::vector<std::string>& words);

}  // namespace esper
