#include "jobs/schedule/run_file.h"

#include <optional>
#include <utility>

#include "config/loading/training_check.h"

namespace esper::jobs {

const config::LoadedConfig& read_run_file(const std::string& text) {
  thread_local std::optional<std::pair<std::string, config::LoadedConfig>> last;
  if (!last || last->first != text) {
    last.emplace(text, config::read_run_config_text(text, "config"));
    config::check_for_training(last->second);
  }
  return last->second;
}

}  // namespace esper::jobs
