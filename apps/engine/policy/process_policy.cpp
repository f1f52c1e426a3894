#include "engine/policy/process_policy.h"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/text/json_fields.h"
#include "base/text/problem.h"
#include "config/loading/load.h"
#include "config/writing/write.h"
#include "device/settings.h"
#include "engine/policy/make_controller.h"
#include "engine/trusted_programs.h"

namespace esper::engine {

using base::Error;
using base::ExitCode;
using config::PolicyKind;
using config::RunConfig;
using tamiyo::ProcessController;

namespace {

constexpr char kRunFile[] = "run_file", kPolicy[] = "policy";

tamiyo::ProcessSettings process_settings(PolicyKind kind, const RunConfig& config) {
  tamiyo::ProcessSettings settings;
  settings.deadline = config.safety.policy_deadline;
  settings.start_deadline = config.safety.policy_start_deadline;
  if (kind == PolicyKind::kProcess) {
    settings.command = config.policy.command;
    settings.start["config"] = nlohmann::json(config::resolved_json(config));
    return settings;
  }
  settings.command = {std::filesystem::read_symlink("/proc/self/exe").string(), "policy", "serve"};
  settings.start[kRunFile] = config::resolved_yaml(config);
  settings.start[kPolicy] = base::name_of(kind);
  settings.state = tamiyo::StateForm::kOwn;
  return settings;
}

}  // namespace

std::unique_ptr<ProcessController> make_process(PolicyKind kind, const RunConfig& config) {
  const bool is_users = kind == PolicyKind::kProcess;
  if (is_users && config.policy.command.empty()) {
    throw Error(ExitCode::kPolicy,
                "policy.command: is empty, but policy.kind process needs a program, like [python3, controller.py]");
  }
  if (is_users) require_trusted(config.policy.command);
  try {
    return std::make_unique<ProcessController>(process_settings(kind, config));
  } catch (const std::runtime_error& error) {
    throw Error(ExitCode::kPolicy, fmt::format("{}: the policy's process is not ready: {}; {}",
                                               is_users ? "policy.command" : "policy.host", error.what(),
                                               is_users ? "docs/controller.md says what it must do" : "use thread"));
  }
}

std::unique_ptr<leyline::Controller> make_served(const nlohmann::json& start) {
  auto loaded =
      config::read_run_config_text(base::text_at(start, kRunFile), "the run's file", {}, config::DocumentKind::kOfRun);
  if (!loaded.problems.empty()) throw base::ConfigError(std::move(loaded.problems));
  const auto kind = base::from_name<PolicyKind>(base::text_at(start, kPolicy));
  ESPER_CHECK(kind && *kind != PolicyKind::kProcess && *kind != PolicyKind::kEnsemble, "a run names a policy of ours");
  device::apply_settings(loaded.config.device, c10::kCPU);  // a network's last bits may depend on them
  return make_controller(*kind, loaded.config);
}

}  // namespace esper::engine
