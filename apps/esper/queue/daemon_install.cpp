// `esper daemon install`: the daemon as a service of systemd.
#include <unistd.h>

#include <memory>

#include "base/error.h"
#include "esper/front.h"
#include "esper/own_program.h"
#include "esper/queue/daemon_client.h"
#include "esper/queue/job_commands.h"
#include "esper/run_options.h"
#include "jobs/daemon/daemon_config.h"
#include "jobs/daemon/service_unit.h"

namespace esper {
namespace {

struct InstallOptions {
  std::shared_ptr<DaemonAddress> address;
  std::string config;
  bool print_only = false, replace = false;
};

std::string unit_path() {
  std::string folder = environment_value("XDG_CONFIG_HOME");
  if (folder.empty()) {
    const std::string home = environment_value("HOME");
    if (home.empty()) throw base::Error(base::ExitCode::kConfig, "there is no home folder for the unit file: set HOME");
    folder = home + "/.config";
  }
  return absolute_path(folder + "/systemd/user/esper.service");
}

jobs::ServicePlan plan_of(const InstallOptions& options) {
  jobs::ServicePlan plan{.program = own_program(), .state_dir = state_dir_of(*options.address), .config = {}};
  if (options.config.empty()) {
    jobs::daemon_config_of(plan.state_dir);
  } else {
    jobs::load_daemon_config(options.config);
    plan.config = absolute_path(options.config);
  }
  return plan;
}

bool has_systemd() { return ::access("/run/systemd/system", F_OK) == 0; }

void write_unit(const InstallOptions& options, const std::string& text) {
  const std::string path = unit_path();
  const auto on_different = options.replace ? jobs::OnDifferent::kReplace : jobs::OnDifferent::kRefuse;
  const bool is_new = jobs::install_unit(path, text, on_different) == jobs::Installation::kWritten;
  if (options.address->json) {
    print_json({{"unit", path}, {"written", is_new}});
    return;
  }
  print_line((is_new ? "wrote " : "unchanged: ") + path);
  print_line("now:");
  print_line("  systemctl --user daemon-reload");
  print_line("  systemctl --user enable --now esper");
  print_line("  loginctl enable-linger        # so that it runs while you are not logged in");
}

int install(const InstallOptions& options) {
  const auto plan = plan_of(options);
  const std::string text = jobs::unit_text(plan);
  if (options.print_only) {
    options.address->json ? print_json({{"path", unit_path()}, {"text", text}}) : print(text);
  } else if (has_systemd()) {
    write_unit(options, text);
  } else {
    throw base::Error(base::ExitCode::kResources,
                      "systemd is not running here (there is no /run/systemd/system), so nothing was installed. To "
                      "start the daemon with the machine, add this line with `crontab -e`:\n" +
                          jobs::crontab_line(plan) +
                          "\nWithout it, `esper submit` starts a daemon if none is running.");
  }
  return 0;
}

}  // namespace

void add_daemon_install(CLI::App& daemon, Front& front, const std::shared_ptr<DaemonAddress>& address) {
  CLI::App* command = add_command(daemon, "install", "Write a systemd user unit that runs the daemon",
                                  "esper daemon install --config daemon.yaml");
  const auto options = std::make_shared<InstallOptions>();
  options->address = address;
  add_daemon_options(*command, *address);
  command->add_option("--config", options->config, "Configuration file for that daemon")
      ->type_name("FILE")
      ->check(refuse_empty);
  command->add_flag("--print", options->print_only, "Print the unit without writing it");
  command->add_flag("--replace", options->replace, "Replace a unit file that differs");
  command->callback([&front, options] { front.run = [options] { return install(*options); }; });
}

}  // namespace esper
