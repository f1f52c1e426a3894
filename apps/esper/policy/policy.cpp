// `esper policy`: what a run's policy decided, why, and whether another one would have decided otherwise. The commands
// that the engine carries out; one file for each of the others.
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

struct SwapOptions {
  SwapRequest request;
  std::string policy;
};

// A kind, or a file of weights.
void read_policy(const std::string& policy, SwapRequest& request) {
  if (const auto kind = config::single_policy_kind(policy)) {
    request.policy = *kind;
    return;
  }
  std::error_code ignored;
  if (!std::filesystem::exists(policy, ignored)) {
    const std::vector<std::string> kinds = config::single_policy_kinds();
    const auto meant = base::nearest(policy, kinds);
    throw base::Error(
        base::ExitCode::kConfig,
        fmt::format("--policy {} is neither a kind of policy nor a file{}; kinds: {}", base::in_quotes(policy),
                    meant ? fmt::format("; did you mean {}?", *meant) : "", base::joined(kinds)));
  }
  request.policy = config::PolicyKind::kGnn;
  request.policy_file = policy;
}

int swap(SwapOptions options) {
  read_policy(options.policy, options.request);
  return run_in_engine(options.request);
}

void add_run(CLI::App& command, std::string& run) {
  command.add_option("run", run, "Run folder of a finished, running or killed run")->required()->type_name("RUN");
}

void add_explain(CLI::App& policy, Front& front) {
  CLI::App* command = add_command(policy, "explain", "Print one decision with its reasons, and what the policy saw",
                                  "esper policy explain runs/digits-20260301-120000 5");
  const auto request = std::make_shared<ExplainRequest>();
  add_run(*command, request->run_dir);
  command->add_option("epoch", request->epoch, "The epoch after which the policy decided")
      ->required()
      ->type_name("EPOCH");
  command->add_flag("--features", request->features, "Also print every number that a policy network saw");
  add_json_flag(*command, request->json);
  command->callback([&front, request] { front.run = [request] { return run_in_engine(*request); }; });
}

void add_replay(CLI::App& policy, Front& front) {
  CLI::App* command = add_command(policy, "replay", "Repeat every logged decision, and compare the results bit for bit",
                                  "esper policy replay runs/digits-20260301-120000\n"
                                  "Exit code 0: all decisions are the same; 1: some differ, or the log is damaged");
  const auto request = std::make_shared<ReplayRequest>();
  add_run(*command, request->run_dir);
  add_trust_flag(*command, request->trust_program);
  add_json_flag(*command, request->json);
  command->callback([&front, request] { front.run = [request] { return run_in_engine(*request); }; });
}

void add_swap(CLI::App& policy, Front& front) {
  CLI::App* command = add_command(policy, "swap", "Show where another policy would have decided differently",
                                  "esper policy swap runs/digits-20260301-120000 --policy periodic\n"
                                  "         esper policy swap runs/digits-20260301-120000 --policy my.safetensors");
  const auto options = std::make_shared<SwapOptions>();
  add_run(*command, options->request.run_dir);
  command
      ->add_option("--policy", options->policy,
                   "Kind of policy (" + base::joined(config::single_policy_kinds()) +
                       "), or a file of a policy network's weights")
      ->required()
      ->type_name("POLICY")
      ->check(refuse_empty);
  add_trust_flag(*command, options->request.trust_program);
  add_json_flag(*command, options->request.json);
  command->callback([&front, options] { front.run = [options] { return swap(*options); }; });
}

}  // namespace

void add_policy(Front& front) {
  CLI::App* policy = add_command(front.root, "policy", "Explain, repeat and compare the decisions of a run's policy",
                                 "esper policy explain runs/digits-20260301-120000 5");
  policy->require_subcommand(1);
  add_explain(*policy, front);
  add_replay(*policy, front);
  add_swap(*policy, front);
  add_policy_compare(*policy, front);
  add_policy_serve(*policy, front);
  add_policy_imitate(*policy, front);
  add_policy_show(*policy, front);
}

}  // namespace esper
