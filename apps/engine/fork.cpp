// `esper fork`: a new run that continues from a checkpoint of another run, optionally without some seeds.

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/standard_output.h"
#include "config/writing/write.h"
#include "engine/commands.h"
#include "engine/no_epochs_left.h"
#include "engine/policy/policy.h"
#include "engine/start_run.h"
#include "engine/training_setup.h"
#include "engine/trusted_programs.h"
#include "history/growth/run_history.h"
#include "history/live_request.h"
#include "history/setting_change.h"
#include "kasmina/host/host_package.h"
#include "kasmina/slot/topology.h"
#include "lanes/step_runner.h"
#include "nissa/log.h"
#include "storage/confined_file_system.h"
#include "storage/real_file_system.h"
#include "tamiyo/care_state.h"
#include "tamiyo/null_controller.h"
#include "tolaria/checkpoint/checkpoint_store.h"
#include "tolaria/checkpoint/growth_check.h"
#include "tolaria/run/no_checkpoint.h"
#include "tolaria/run/resume.h"
#include "tolaria/run/run_folder.h"
#include "tolaria/run/run_image.h"
#include "tolaria/state/control_record.h"
#include "tolaria/state/safety_record.h"
#include "tolaria/state/training_identity.h"

namespace esper::engine {
namespace {

using base::Error;
using base::ExitCode;
using nlohmann::json;
using tolaria::CheckpointImage;

std::string name_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string command_of(const ForkRequest& fork) { return fmt::format("esper fork {}@{}", fork.parent, fork.step); }

// The later one where an epoch ended at that step.
std::string checkpoint_at(base::FileSystem& files, const ForkRequest& fork) {
  std::string found;
  std::vector<std::int64_t> steps;
  for (const auto& entry : tolaria::require_checkpoints(files, fork.parent)) {
    if (entry.step == fork.step) found = entry.path;
    if (steps.empty() || entry.step != steps.back()) steps.push_back(entry.step);
  }
  if (!found.empty()) return found;
  throw Error(ExitCode::kConfig, fmt::format("run {} has no checkpoint of step {}; available: {}. checkpoint.every and "
                                             "checkpoint.keep_last set how many are kept",
                                             fork.parent, fork.step, base::joined(steps)));
}

void warn_if_unchecked(const history::RunHistory& journal, const CheckpointImage& image, const std::string& path) {
  const auto checked = tolaria::check_growth(journal.history, image);
  if (!checked) nissa::log::warning(tolaria::why_unchecked(path, journal, checked.error()));
}

// A checkpoint of the parent.
struct Origin {
  std::string path;
  CheckpointImage image;          // becomes the fork's
  tolaria::RunProgress progress;  // the parent's, as the image had it
};

[[noreturn]] void reject_parent(const std::string& path, const std::string& reason) {
  throw Error(ExitCode::kCheckpoint, fmt::format("{} cannot be forked: {}", path, reason));
}

// From the parent's policy to the one of the fork's configuration, which can only be none.
void change_policy(TrainingSetup& setup, config::PolicyKind policy, CheckpointImage& image) {
  if (setup.config.policy.kind == policy) return;
  setup.config.policy.kind = policy;
  image.run["controller"] = tamiyo::NullController().save_state();
  image.info.training_hash = tolaria::training_identity(setup.config, setup.data).text();
}

// That of the run that goes on at once: a program that does not start leaves no fork.
std::unique_ptr<tamiyo::RunPolicy> policy_of(const ForkRequest& fork) {
  const Job& job = fork.job;
  return fork.train ? make_policy(job.config, job.cache_dir).policy : make_policy_for_state(job.config);
}

// Reads all that a resumed run reads, its policy's state, too.
base::Expected<tolaria::RunProgress> restore_state(TrainingSetup& setup, const CheckpointImage& image,
                                                   const ForkRequest& fork) {
  auto state = tolaria::read_state(image, batches_per_epoch(setup));
  if (!state) return base::failure(state.error());
  auto restored = tolaria::restore_run(image, *state, *setup.model, setup.device, *policy_of(fork));
  if (!restored) return base::failure(restored.error());
  return std::move(state->progress);
}

// The checkpoint as the setup's model, with the fork's policy, journal and data agreeing with it.
Origin restore_parent(TrainingSetup& setup, base::FileSystem& files, const std::string& path, const ForkRequest& fork) {
  auto image = tolaria::read_checkpoint(files, path);
  if (!image) throw Error(ExitCode::kCheckpoint, tolaria::why_unusable(path, image.error()) + "; choose another step");
  const auto identity = tolaria::training_identity(setup.config, setup.data);
  if (const auto own = identity.check(image->info.training_hash); !own) reject_parent(path, own.error());
  image->info.training_hash = identity.text();
  change_policy(setup, fork.job.config.policy.kind, *image);
  auto progress = restore_state(setup, *image, fork);
  if (!progress) reject_parent(path, progress.error() + "; choose another step");
  if (image->preprocessing.empty()) image->preprocessing = preprocessing_text(setup);
  preprocessing_of_checkpoint(path, image->preprocessing);
  warn_if_unchecked(history::read_journal(files, fork.parent), *image, path);
  return {path, std::move(*image), *std::move(progress)};
}

// The policy is not to wonder where they went.
void forget(const std::vector<std::string>& seeds, const config::RunConfig& config, CheckpointImage& image) {
  if (never_grows(config)) return;
  auto state = image.run.at("controller").get<std::string>();
  for (const auto& slot : kasmina::topology_of(image.run.at("topology")).slots) {
    if (std::ranges::find(seeds, slot.seed_id) == seeds.end()) continue;
    state = tamiyo::forget_seed(state, slot.seed_id, slot.id);
  }
  image.run["controller"] = state;
}

// The state without the seeds: their tensors, moments and sums are gone, all others as they were, to the bit.
void leave_out(TrainingSetup& setup, const std::vector<std::string>& seeds, Origin& origin) {
  auto& image = origin.image;
  forget(seeds, setup.config, image);
  json topology = image.run.at("topology");
  for (const auto& seed : seeds) topology = kasmina::without_seed(std::move(topology), seed, setup.config.growth);
  setup.model->network.restore_topology(topology);
  step::follow_structure(*setup.model);
  auto controls = origin.progress.control;
  for (const auto& seed : seeds) controls.seeds.erase(seed);
  image.tensors = tolaria::copy_to_cpu(step::all_tensors(*setup.model, setup.device));
  std::ranges::move(tolaria::control_tensors(controls), std::back_inserter(image.tensors));
  image.run["topology"] = setup.model->network.save_topology();
  image.run["topology_hash"] = leyline::topology_hash(kasmina::topology_of(image.run["topology"]));
  // The last epochs' figures and the best epoch were another network's.
  json& progress = image.run.at("progress");
  progress["control"] = tolaria::to_json(controls);
  progress["validation"] = nullptr;
  progress["best"] = nullptr;
  progress["patience"] = nullptr;
  progress.erase("patience_loss");
  progress.erase("patience_seeds");
  progress["epochs_without_better"] = 0;
  if (progress.contains("safety")) {
    auto safety = tolaria::safety_record_from_json(progress["safety"]);
    safety.remove_active_seed();
    progress["safety"] = tolaria::to_json(safety);
  }
}

history::GrowthRecord fork_record(const ForkRequest& fork, const Origin& origin) {
  history::GrowthRecord record;
  record.what = "forked";
  record.place = {origin.image.info.epoch, origin.image.info.step};
  record.snapshot = kasmina::topology_of(origin.image.run.at("topology"));
  record.parent = std::filesystem::absolute(fork.parent).lexically_normal().string();
  record.checkpoint = name_of(origin.path);
  record.without = fork.without;
  return record;
}

// As the parent changed them while it trained, up to the checkpoint.
config::RunConfig settings_of(const Origin& origin, const config::RunConfig& config) {
  return history::settings_at(config, origin.progress.changes, origin.image.info.epoch + 1);
}

// Makes the new run's folder, whole when this returns; a signal waits until it is, and then ends the command. Its lock
// ends with it.
std::string publish(const ForkRequest& request, const Origin& origin, base::Interrupt& interrupt) {
  const auto& changes = origin.progress.changes;
  const auto& config = request.job.config;
  const auto now = static_cast<std::uint64_t>(base::Clock().wall().count());
  const auto path = request.run.folder.empty()
                        ? tolaria::new_run_path(storage::real_file_system(), config.runs_dir, config.name, now)
                        : request.run.folder;
  storage::ConfinedFileSystem files(path, storage::Owner::kAnyone);
  interrupt.begin_saving();
  const auto folder = tolaria::create_run_folder(files, path, config::resolved_yaml(config));
  kasmina::keep_host_package(config.host, files, path + "/" + kRunHostFolder);
  tolaria::CheckpointStore store(files, folder.checkpoints(), folder.journal(), config.checkpoint);
  if (!changes.empty()) history::publish_accepted(files, path, changes);
  const json record = history::growth_record_json(fork_record(request, origin));
  store.record(record.dump(-1, ' ', false, json::error_handler_t::replace));
  store.publish(origin.image, tolaria::CheckpointStore::Rank::kOrdinary);
  interrupt.end_saving();
  end_if_interrupted(folder.path);
  return path;
}

bool is_over(const Origin& origin, const config::RunConfig& settings) {
  return origin.image.info.epoch >= static_cast<std::uint32_t>(settings.epochs);
}

// settings: settings_of() the fork.
void print_fork(const ForkRequest& request, const Origin& origin, const config::RunConfig& settings,
                const std::string& path) {
  if (request.job.json) {
    return base::write_json({{"run_dir", path},
                             {"parent", request.parent},
                             {"checkpoint", origin.path},
                             {"without", request.without},
                             {"policy", base::name_of(request.job.config.policy.kind)}});
  }
  const std::string seeds = base::joined(request.without);
  base::write_line("forked from " + origin.path + (seeds.empty() ? "" : ", without " + seeds));
  if (is_over(origin, settings)) {
    base::write_line(
        no_epochs_left(origin.image.info.epoch, settings, history::command_for_epochs(path, origin.progress.changes)));
  } else {
    base::write_line("to continue: esper train --resume " + path);
  }
}

// The figures that the run would end with are those of the network with the seeds.
void require_epochs_left(base::FileSystem& files, const ForkRequest& request, const Origin& origin,
                         const config::RunConfig& settings) {
  if (!request.train || request.without.empty() || !is_over(origin, settings)) return;
  std::string command = command_of(request);
  for (const auto& seed : request.without) command += " --without " + seed;
  if (request.job.config.policy.kind != request.parents_policy) command += " --policy none";
  const bool only_by_set = history::sets_epochs(history::accepted_changes(files, request.parent));
  command += only_by_set ? " --no-train, then esper set FORK epochs=N" : " --set epochs=N";
  throw Error(ExitCode::kConfig, no_epochs_left(origin.image.info.epoch, settings, command));
}

// Everything but what goes on training needs, so that its memory is free again by then.
std::string make_fork(const ForkRequest& request) {
  base::Interrupt interrupt;
  storage::ConfinedFileSystem files(request.parent, storage::Owner::kAnyone);
  const auto checkpoint = checkpoint_at(files, request);
  config::RunConfig with_parents_policy = request.job.config;
  with_parents_policy.policy.kind = request.parents_policy;
  TrainingSetup setup = set_up(with_parents_policy, request.job.cache_dir, kSameCommand);
  lanes::check_lane(setup.config.step, setup.device);
  auto origin = restore_parent(setup, files, checkpoint, request);
  const auto settings = settings_of(origin, request.job.config);
  if (!request.without.empty()) leave_out(setup, request.without, origin);
  require_epochs_left(files, request, origin, settings);
  const auto path = publish(request, origin, interrupt);
  if (!request.train) print_fork(request, origin, settings, path);
  return path;
}

}  // namespace

int run(const ForkRequest& request) {
  const auto& policy = request.job.config.policy;
  const auto& data = request.job.config.data;
  if (request.job.trust_data_program && data.kind == config::DataKind::kProcess) trust_program(data.command);
  if (request.job.trust_program && policy.asks(config::PolicyKind::kProcess)) trust_program(policy.command);
  const auto path = make_fork(request);
  if (!request.train) return 0;
  TrainRequest onward;
  onward.job = request.job;
  onward.run = request.run;
  onward.run.folder.clear();
  onward.esper = request.esper;
  onward.resume = path;
  return run(onward);
}

}  // namespace esper::engine
