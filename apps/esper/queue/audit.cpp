// `esper daemon audit`: who asked the daemon for what.
#include <fmt/core.h>
#include <pwd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text/json_fields.h"
#include "base/text/printable.h"
#include "esper/front.h"
#include "esper/queue/daemon_client.h"
#include "esper/queue/job_commands.h"
#include "esper/run_options.h"

namespace esper {
namespace {

using base::number_at;
using base::text_at;

struct AuditOptions {
  std::shared_ptr<DaemonAddress> address;
  std::int64_t after = 0, limit = 1000;
};

std::string user_of(std::int64_t uid) {
  const passwd* user = ::getpwuid(static_cast<uid_t>(uid));
  return user == nullptr ? std::to_string(uid) : user->pw_name;
}

std::string line_of(const nlohmann::json& line) {
  const auto at = std::chrono::milliseconds(number_at<std::int64_t>(line, "at_ms").value_or(0));
  const auto job = number_at<std::int64_t>(line, "job");
  const auto text = fmt::format("{:>6}  {}Z  {:12}  {:9}  {:>7}  {}", number_at<std::int64_t>(line, "id").value_or(0),
                                base::rfc3339(at).substr(0, 19),
                                user_of(number_at<std::int64_t>(line, "uid").value_or(-1)), text_at(line, "what"),
                                job ? fmt::format("job {}", *job) : "", base::printable_line(text_at(line, "details")));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

int audit(const AuditOptions& options) {
  const auto answer =
      ask_daemon(*options.address, "GET", fmt::format("/v1/audit?after={}&limit={}", options.after, options.limit));
  if (options.address->json) {
    print_json(answer);
  } else {
    for (const auto& line : answer.at("audit")) print_line(line_of(line));
  }
  return 0;
}

}  // namespace

void add_daemon_audit(CLI::App& daemon, Front& front, const std::shared_ptr<DaemonAddress>& address) {
  CLI::App* command = add_command(daemon, "audit", "Who asked for what, oldest first",
                                  "esper daemon audit\n         esper daemon audit --after 1000 --json");
  const auto options = std::make_shared<AuditOptions>();
  options->address = address;
  command->add_option("--after", options->after, "Only lines after this one")
      ->type_name("ID")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--limit", options->limit, "Only so many; default: 1000")
      ->type_name("N")
      ->check(CLI::Range(1, 10000));
  add_daemon_options(*command, *address);
  command->callback([&front, options] { front.run = [options] { return audit(*options); }; });
}

}  // namespace esper
