// `esper policy imitate`: trains a policy network on the decisions of recorded runs.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/text/joined.h"
#include "base/text/printable.h"
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"
#include "esper/version.h"

namespace esper {
namespace {

constexpr int kMostEpochs = 100'000;
constexpr double kMostRate = 1, kMostHeldOut = 0.9;

// Also what a file says of how it was made, so it has all that changes the result.
std::string command_line(const ImitateRequest& request) {
  return fmt::format(
      "esper policy imitate {} --out {} --teacher {} --epochs {} --seed {} --learning-rate {} --held-out {}",
      fmt::join(request.runs, " "), request.file, request.teacher, request.epochs, request.seed, request.learning_rate,
      request.held_out);
}

void check_teacher(const std::string& teacher) {
  if (config::single_policy_kind(teacher)) return;
  throw base::Error(base::ExitCode::kConfig,
                    fmt::format("--teacher {} is not a policy that decides by itself; kinds: {}",
                                base::in_quotes(teacher), base::joined(config::single_policy_kinds())));
}

// The ranges of the options let it through.
void refuse_nan(const char* option, double value) {
  if (std::isnan(value)) throw base::Error(base::ExitCode::kConfig, fmt::format("{} nan: give a number", option));
}

int imitate(ImitateRequest request) {
  refuse_nan("--learning-rate", request.learning_rate);
  refuse_nan("--held-out", request.held_out);
  refuse_other_than_file(request.file, "name a file");
  check_teacher(request.teacher);
  request.esper = build_name();
  request.command_line = command_line(request);
  return run_in_engine(request);
}

void add_training_options(CLI::App& command, ImitateRequest& request) {
  command.add_option("--epochs", request.epochs, "Passes over all decisions")
      ->check(CLI::Range(1, kMostEpochs))
      ->capture_default_str();
  command
      .add_option("--seed", request.seed,
                  "Seed of the initial weights, the order of the decisions, and the choice of held-out runs")
      ->capture_default_str();
  command.add_option("--learning-rate", request.learning_rate, "Initial learning rate; it decays to 0")
      ->check(CLI::Range(0.0, kMostRate))
      ->capture_default_str();
  command
      .add_option("--held-out", request.held_out,
                  "Fraction of the runs held out from training, to choose the best epoch and to measure agreement")
      ->check(CLI::Range(0.0, kMostHeldOut))
      ->capture_default_str();
}

}  // namespace

void add_policy_imitate(CLI::App& policy, Front& front) {
  CLI::App* command =
      add_command(policy, "imitate", "Train a policy network on the decisions of recorded runs",
                  "esper policy imitate runs/digits-20260301-120000 runs/digits-20260301-130000 --out my.safetensors");
  const auto request = std::make_shared<ImitateRequest>();
  command->add_option("run", request->runs, "Run folders whose decisions it learns from")->required()->type_name("RUN");
  command->add_option("--out", request->file, "The policy file to write")
      ->required()
      ->type_name("FILE")
      ->check(refuse_empty);
  command
      ->add_option("--teacher", request->teacher,
                   "Kind of policy whose decisions are imitated; in runs of another policy it is asked what it would "
                   "decide")
      ->type_name("KIND")
      ->capture_default_str();
  add_training_options(*command, *request);
  command->add_flag("--replace", request->replace, "Overwrite FILE if it exists");
  add_trust_flag(*command, request->trust_program);
  add_json_flag(*command, request->json);
  command->callback([&front, request] { front.run = [request] { return imitate(*request); }; });
}

}  // namespace esper
