#include "jobs/daemon/service_unit.h"

#include <fmt/core.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "base/text/printable.h"
#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::jobs {
namespace {

constexpr std::size_t kMostUnitBytes = 1 << 20;

// What follows is a fixed part of each unit: Type=notify needs NotifyAccess=main, and the rest keeps jobs alive.
constexpr std::string_view kUnit = R"([Unit]
Description=Esper: a queue of trainings
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=notify
NotifyAccess=main
ExecStart={}
# The processes of jobs outlive the daemon: a stop or a restart reaches the daemon alone.
KillMode=process
# A job that the kernel ends for want of memory does not end the daemon.
OOMPolicy=continue
Restart=on-failure
RestartSec=5
# A mistake in the configuration, a damaged database, another daemon on the same folder: starting again does not help.
RestartPreventExitStatus=2 5 75
WatchdogSec=120

[Install]
WantedBy=default.target
)";

std::vector<std::string> command_of(const ServicePlan& plan) {
  std::vector<std::string> words{plan.program, "daemon", "--state-dir", plan.state_dir};
  if (!plan.config.empty()) words.insert(words.end(), {"--config", plan.config});
  for (const std::string& word : words) {
    if (base::printable_line(word) != word) {
      throw base::Error(
          base::ExitCode::kConfig,
          base::in_quotes(word) + ": a service cannot have a path with control characters, or one that is not UTF-8");
    }
  }
  return words;
}

// systemd.service(5), "Command lines": C escapes, specifiers with '%', and, but for the program, variables with '$'.
enum class UnitWord { kProgram, kArgument };
std::string quoted_for_unit(const std::string& word, UnitWord kind) {
  std::string text = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '%' || (c == '$' && kind == UnitWord::kArgument)) text += c;
    text += c;
  }
  return text + "\"";
}

// For the shell, and for cron, which takes '%' for the end of the line, also in quotes.
std::string quoted_for_crontab(const std::string& word) {
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else if (c == '%') {
      text += "'\\%'";
    } else {
      text += c;
    }
  }
  return text + "'";
}

std::optional<std::string> text_of_file(const std::string& path) {
  auto& files = storage::real_file_system();
  if (files.kind_of(path) == base::PathKind::kNothing) return std::nullopt;
  const auto bytes = storage::read_file(files, path, kMostUnitBytes);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

std::string unit_text(const ServicePlan& plan) {
  if (plan.program.find_first_of("\"'\\") != std::string::npos) {
    throw base::Error(base::ExitCode::kConfig, base::in_quotes(plan.program) +
                                                   ": systemd starts no program whose path has quotes or backslashes; "
                                                   "move it");
  }
  std::string command;
  for (const std::string& word : command_of(plan))
    command +=
        command.empty() ? quoted_for_unit(word, UnitWord::kProgram) : " " + quoted_for_unit(word, UnitWord::kArgument);
  return fmt::format(fmt::runtime(kUnit), command);
}

std::string crontab_line(const ServicePlan& plan) {
  std::string line = "@reboot";
  for (const std::string& word : command_of(plan)) line += " " + quoted_for_crontab(word);
  return line + " >>" + quoted_for_crontab(plan.state_dir + "/daemon.log") + " 2>&1";
}

Installation install_unit(const std::string& path, const std::string& text, OnDifferent on_different) {
  const auto before = text_of_file(path);
  if (before == text) return Installation::kUnchanged;
  if (before && on_different == OnDifferent::kRefuse) {
    throw base::Error(
        base::ExitCode::kConfig,
        path + ": exists already and differs; look at it, then give --replace, or --print to see the new one");
  }
  auto& files = storage::real_file_system();
  storage::ensure_folder(files, storage::parent_of(path));
  storage::publish_file(files, path, storage::bytes_of(text));
  return Installation::kWritten;
}

}  // namespace esper::jobs
