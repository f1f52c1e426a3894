// `esper daemon`: the queue's process, and what is asked of it.
#include "jobs/daemon/daemon.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/text/json_fields.h"
#include "esper/front.h"
#include "esper/own_program.h"
#include "esper/queue/daemon_answer.h"
#include "esper/queue/daemon_client.h"
#include "esper/queue/job_commands.h"
#include "esper/run_options.h"
#include "esper/version.h"

namespace esper {
namespace {

struct DaemonCommand {
  DaemonAddress address;
  std::string config;
  // What is given goes before the configuration file.
  std::optional<std::int64_t> threads, most_interruptions;
  std::string stop_grace, restart_delay;
  int ready_file = -1;
};

base::Duration duration_in(const std::string& option, const std::string& text) {
  const auto duration = base::parse_duration(text);
  if (!duration) throw base::Error(base::ExitCode::kConfig, option + ": needs a duration, like 60s or 5m");
  return *duration;
}

jobs::DaemonConfig config_of(const DaemonCommand& command, const std::string& state_dir) {
  auto config = command.config.empty() ? jobs::daemon_config_of(state_dir) : jobs::load_daemon_config(command.config);
  if (command.threads) config.threads = *command.threads;
  if (command.most_interruptions) config.most_interruptions = *command.most_interruptions;
  if (!command.stop_grace.empty()) config.stop_grace = duration_in("--stop-grace", command.stop_grace);
  if (!command.restart_delay.empty()) config.restart_delay = duration_in("--restart-delay", command.restart_delay);
  return config;
}

int run(const DaemonCommand& command) {
  jobs::DaemonOptions options;
  options.state_dir = state_dir_of(command.address);
  options.program = own_program();
  options.version = build_name();
  options.config = config_of(command, options.state_dir);
  options.ready = base::Descriptor(command.ready_file);
  jobs::run_daemon(std::move(options));
  return 0;
}

int report(const DaemonAddress& address, const nlohmann::json& daemon) {
  using base::member, base::text_at;
  if (address.json) {
    print_json(daemon);
    return 0;
  }
  print_line(fmt::format("daemon {}: process {}, {}{}", text_at(daemon, "state_dir"),
                         base::number_at<std::int64_t>(daemon, "pid").value_or(0), text_at(daemon, "version"),
                         member(daemon, "draining") == true ? ", draining" : ""));
  const auto counts = answer_in<std::map<std::string, std::int64_t>>(address, member(daemon, "jobs"));
  for (const auto& [state, count] : counts) {
    if (count != 0) print_line(fmt::format("  {:10} {}", state, count));
  }
  if (const auto& page = member(daemon, "page"); !page.is_null()) {
    print_line(fmt::format("  page       {}, with the token in {}", text_at(page, "url"), text_at(page, "token_file")));
  }
  return 0;
}

// A subcommand that is one request to the daemon.
struct RequestCommand {
  std::string name, help;
  std::string method, target;
};

void add_request(CLI::App& daemon, Front& front, const RequestCommand& request,
                 const std::shared_ptr<DaemonAddress>& address) {
  const auto& [name, help, method, target] = request;
  CLI::App* command = add_command(daemon, name, help, "esper daemon " + name);
  add_daemon_options(*command, *address);
  command->callback([&front, address, method = method, target = target] {
    front.run = [address, method, target] { return report(*address, ask_daemon(*address, method, target)); };
  });
}

}  // namespace

void add_daemon(Front& front) {
  CLI::App* command = add_command(front.root, "daemon", "Run the training queue, or query it",
                                  "esper daemon --threads 8\n         esper daemon status");
  const auto options = std::make_shared<DaemonCommand>();
  add_daemon_options(*command, options->address);
  command
      ->add_option("--config", options->config,
                   "Configuration file (docs/daemon.md); default: daemon.yaml in the daemon's folder, if there is one")
      ->type_name("FILE")
      ->check(refuse_empty);
  command->add_option("--threads", options->threads, "Threads for all jobs together; default: the machine's cores")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--stop-grace", options->stop_grace,
                   "How long a job has to save and stop before it is killed; default: 60s")
      ->type_name("TIME")
      ->check(refuse_empty);
  command
      ->add_option("--restart-delay", options->restart_delay,
                   "Delay before an interrupted job is started again; doubles with each interruption in a row, up to "
                   "5m; default: 1s")
      ->type_name("TIME")
      ->check(refuse_empty);
  command
      ->add_option(
          "--most-interruptions", options->most_interruptions,
          "How many times in a row a job is started again for the same cause without a new checkpoint; default: 5")
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
  command
      ->add_option("--ready-file", options->ready_file,
                   "File descriptor to which \"ready\" is written once clients can connect")
      ->type_name("N")
      ->group("");
  command->require_subcommand(0, 1);
  // One for all: --state-dir may stand before the subcommand.
  const std::shared_ptr<DaemonAddress> address(options, &options->address);
  add_request(*command, front,
              {"status", "Print the daemon's process, version and number of jobs", "GET", "/v1/daemon"}, address);
  add_request(*command, front, {"drain", "Start no more jobs; running jobs continue", "POST", "/v1/daemon/drain"},
              address);
  add_request(
      *command, front,
      {"stop", "Stop the daemon; running jobs continue, and the next daemon finds them", "POST", "/v1/daemon/stop"},
      address);
  add_daemon_audit(*command, front, address);
  add_daemon_install(*command, front, address);
  command->callback([&front, options] {
    if (!front.run) front.run = [options] { return run(*options); };
  });
}

}  // namespace esper
