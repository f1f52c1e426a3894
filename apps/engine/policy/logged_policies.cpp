#include "engine/policy/logged_policies.h"

#include <fmt/core.h>

#include "base/names.h"
#include "base/text/printable.h"
#include "base/text/problem.h"
#include "config/loading/load.h"
#include "device/settings.h"
#include "engine/policy/gnn_policy.h"
#include "engine/policy/make_controller.h"
#include "engine/trusted_programs.h"

namespace esper::engine {

using base::Error;
using base::ExitCode;
using config::RunConfig;

namespace {

RunConfig read_config(const history::DecisionLog& log, const leyline::DecisionProcess& process) {
  if (process.config.empty()) {
    throw Error(ExitCode::kData, fmt::format("the log of decisions does not contain the run file of some decisions, so "
                                             "their policy cannot be recreated{}{}",
                                             log.gaps.empty() ? "" : ": ", log.gaps.empty() ? "" : log.gaps.front()));
  }
  const std::string name = fmt::format("the run file of {} in its log of decisions", process.run_id);
  auto loaded = config::read_run_config_text(process.config, name, {}, config::DocumentKind::kOfRun);
  if (!loaded.problems.empty()) throw base::ConfigError(std::move(loaded.problems));
  return std::move(loaded.config);
}

}  // namespace

const RunConfig& LoggedPolicies::config_of(std::size_t process) {
  const auto& text = log_.processes.at(process).config;
  const auto known = configs_.find(text);
  return known != configs_.end() ? known->second
                                 : configs_.emplace(text, read_config(log_, log_.processes.at(process))).first->second;
}

leyline::Controller& LoggedPolicies::controller(std::size_t process, const std::string& kind) {
  auto& made = controllers_[{log_.processes.at(process).config, kind}];
  if (made) return *made;
  const auto known = base::from_name<config::PolicyKind>(kind);
  if (!known || *known == config::PolicyKind::kEnsemble) {
    throw Error(ExitCode::kData, fmt::format("the log of decisions names {} as a policy", base::in_quotes(kind)));
  }
  const RunConfig& config = config_of(process);
  if (*known == config::PolicyKind::kProcess && trust_program_) trust_program(config.policy.command);
  device::apply_settings(config.device, c10::kCPU);  // a network's last bits may depend on them
  const bool is_compiled = *known == config::PolicyKind::kGnn && config.policy.gnn.compile;
  made = is_compiled ? make_compiled_gnn(config, /*cache_dir=*/"") : make_controller(*known, config);
  return *made;
}

}  // namespace esper::engine
