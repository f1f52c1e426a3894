#pragma once
// The policies of a log of decisions, made again from the run files that the log holds. Main thread.

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "config/run_config.h"
#include "history/growth/decision_log.h"
#include "leyline/controller.h"

namespace esper::engine {

class LoggedPolicies {
 public:
  // trust_program: the user trusts the programs that the log names.
  explicit LoggedPolicies(const history::DecisionLog& log, bool trust_program = false)
      : log_(log), trust_program_(trust_program) {}

  // That the process ran by. Throws Error{kData} where the log does not have it, ConfigError where it is not readable.
  const config::RunConfig& config_of(std::size_t process);
  // One for each run file and kind; whoever asks it loads its state first. Throws as config_of() and
  // make_controller().
  leyline::Controller& controller(std::size_t process, const std::string& kind);

 private:
  const history::DecisionLog& log_;
  bool trust_program_;
  std::map<std::string, config::RunConfig> configs_;  // by text
  std::map<std::pair<std::string, std::string>, std::unique_ptr<leyline::Controller>> controllers_;
};

}  // namespace esper::engine
