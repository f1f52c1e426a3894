#include <charconv>
#include <filesystem>
#include <set>

#include "base/clock.h"
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/permitted_changes.h"
#include "esper/run_options.h"

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
  const char* const end = origin.data() + origin.size();
  const bool parted = at != std::string::npos && at > 0 && !is_step_of_run(origin.substr(0, at));
  const auto read = parted ? std::from_chars(origin.data() + at + 1, end, fork.step) : std::from_chars_result{};
  if (!parted || read.ec != std::errc() || read.ptr != end || fork.step < 0) {
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
    throw base::Error(base::ExitCode::kConfig,
                      "--without names " + seed + " twice; give it once for each seed to leave out");
  }
}

int fork_run(ForkOptions options) {
  ForkRequest& request = options.request;
  read_origin(options.origin, request);
  refuse_repeated(request.without);
  const config::RunConfig before = read_config_of_run(request.parent).config;
  request.job.config = load_config_of_run(request.parent, options.assignments);
  if (const std::string changes = forbidden_changes(before, request.job.config, "A fork"); !changes.empty()) {
    throw base::Error(base::ExitCode::kConfig, "a fork goes on with its parent's training; these would change" +
                                                   changes + " --policy none turns deciding on growth off");
  }
  request.parents_policy = before.policy.kind;
  if (!options.policy.empty()) request.job.config.policy.kind = config::PolicyKind::kNone;
  request.train = !options.only_make;
  return run_in_engine(request);
}

}  // namespace

void add_fork(Front& front) {
  CLI::App* command =
      add_command(front.root, "fork", "Train on from a checkpoint of a run, in a run of its own, with seeds left out",
                  "esper fork runs/digits-20260301-120000@460 --without seed-0001 --policy none\n"
                  "         esper fork runs/digits-20260301-120000@460 --set epochs=40");
  const auto options = std::make_shared<ForkOptions>();
  ForkRequest& request = options->request;
  request.run.started = base::Clock().now();
  command->add_option("origin", options->origin, "Run folder and step of one of its checkpoints")
      ->required()
      ->type_name("RUN@STEP");
  command
      ->add_option("--without", request.without,
                   "Seed to leave out: its tensors and moments go, its slot is free; once for each seed")
      ->type_name("SEED")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  command
      ->add_option("--policy", options->policy, "none: nothing germinates, moves on or is pruned any more in the fork")
      ->type_name("NAME")
      ->check(CLI::IsMember({"none"}));
  add_set_option(*command, options->assignments);
  command->add_option("--run-dir", request.run.folder, "Run folder to make; a new one in runs_dir if left out")
      ->type_name("DIR")
      ->check(refuse_empty);
  add_cache_dir_option(*command, request.job.cache_dir);
  command->add_flag("--no-train", options->only_make, "Only make the run folder; esper train --resume goes on with it");
  command->add_flag("-q,--quiet", request.run.quiet, "No progress and no events on the console");
  add_json_flag(*command, request.job.json);
  command->callback([&front, options] { front.run = [options] { return fork_run(*options); }; });
}

}  // namespace esper
