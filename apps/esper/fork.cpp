#include <filesystem>
#include <set>

#include "base/clock.h"
#include "base/parse_number.h"
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/permitted_changes.h"
#include "esper/run_options.h"
#include "esper/version.h"

namespace esper {
namespace {

struct ForkOptions {
  ForkRequest request;
  std::string origin, policy;
  std::vector<std::string> assignments;
  bool only_make = false;
};

// Of "RUN@276" where there is no such folder: another step follows the first.
bool is_step_of_run(const std::string& folder) {
  std::error_code ignored;
  const std::string name = std::filesystem::path(folder).filename().string();
  const auto at = name.rfind('@');
  const bool ends_with_step = at != std::string::npos && at + 1 < name.size() &&
                              name.find_first_not_of("0123456789", at + 1) == std::string::npos;
  return ends_with_step && !std::filesystem::exists(folder, ignored);
}

// "RUN@STEP"; the folder's own name may hold an @.
void read_origin(const std::string& origin, ForkRequest& fork) {
  const auto at = origin.rfind('@');
  const bool parted = at != std::string::npos && at > 0 && !is_step_of_run(origin.substr(0, at));
  if (parted) fork.step = base::parse_number<std::int64_t>(std::string_view(origin).substr(at + 1)).value_or(-1);
  if (!parted || fork.step < 0) {
    throw base::Error(
        base::ExitCode::kConfig,
        "\"" + origin +
            "\" is not RUN@STEP, a run folder and one step, like runs/digits-20260301-120000@460; the steps are in the "
            "names of the run's checkpoints");
  }
  fork.parent = origin.substr(0, at);
}

void refuse_repeated(const std::vector<std::string>& seeds) {
  std::set<std::string> known;
  for (const auto& seed : seeds) {
    if (known.insert(seed).second) continue;
    throw base::Error(base::ExitCode::kConfig, "--without names " + seed + " twice; list each seed once");
  }
}

int fork_run(ForkOptions options) {
  ForkRequest& request = options.request;
  read_origin(options.origin, request);
  refuse_repeated(request.without);
  const config::RunConfig before = history::read_config_of_run(request.parent).config;
  request.job.config = load_run_for_training(request.parent, options.assignments);
  refuse_overridden(request.parent, before, request.job.config, options.assignments);
  if (const std::string changes = forbidden_changes(before, request.job.config, "A fork"); !changes.empty()) {
    throw base::Error(base::ExitCode::kConfig, "a fork continues its parent's training; these fields would change" +
                                                   changes + " --policy none turns growth decisions off");
  }
  request.parents_policy = before.policy.kind;
  request.esper = build_name();
  if (!options.policy.empty()) request.job.config.policy.kind = config::PolicyKind::kNone;
  request.train = !options.only_make;
  request.job.trust_data_program = request.job.trust_program || sets(options.assignments, "data.command");
  if (sets(options.assignments, "policy.command")) request.job.trust_program = true;
  return run_in_engine(request);
}

}  // namespace

void add_fork(Front& front) {
  CLI::App* command =
      add_command(front.root, "fork", "Start a new run from a checkpoint of another run, optionally without some seeds",
                  "esper fork runs/digits-20260301-120000@460 --without seed-0001 --policy none\n"
                  "         esper fork runs/digits-20260301-120000@460 --set epochs=40");
  const auto options = std::make_shared<ForkOptions>();
  ForkRequest& request = options->request;
  request.run.started = base::Clock().now();
  command->add_option("origin", options->origin, "Run folder and step of one of its checkpoints")
      ->required()
      ->type_name("RUN@STEP");
  command
      ->add_option(
          "--without", request.without,
          "Seed to remove: its parameters and optimizer moments are dropped, its slot becomes free; may be repeated")
      ->type_name("SEED")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  command->add_option("--policy", options->policy, "none: the fork makes no growth decisions")
      ->type_name("NAME")
      ->check(CLI::IsMember({"none"}));
  add_set_option(*command, options->assignments);
  command->add_option("--run-dir", request.run.folder, "Run folder to create; default: a new one in runs_dir")
      ->type_name("DIR")
      ->check(refuse_empty);
  add_cache_dir_option(*command, request.job.cache_dir);
  command->add_flag("--no-train", options->only_make, "Only create the run folder; continue with esper train --resume");
  command->add_flag("-q,--quiet", request.run.quiet, "Print no progress and no events on the console");
  add_trust_flag(*command, request.job.trust_program);
  add_json_flag(*command, request.job.json);
  command->callback([&front, options] { front.run = [options] { return fork_run(*options); }; });
}

}  // namespace esper
