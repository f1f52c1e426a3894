// `esper daemon audit`: who asked the daemon for what.
#include <fmt/core.h>
#include <pwd.h>

#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "base/text/json_fields.h"
#include "base/text/printable.h"
#include "esper/front.h"
#include "esper/queue/daemon_answer.h"
#include "esper/queue/daemon_client.h"
#include "esper/queue/job_commands.h"
#include "esper/run_options.h"

namespace esper {
namespace {

using base::number_at;
using base::text_at;

struct AuditOptions {
  std::shared_ptr<DaemonAddress> address;
  std::optional<std::int64_t> after{};
  std::int64_t limit = 1000;
};

std::string user_of(std::int64_t uid) {
  const passwd* user = ::getpwuid(static_cast<uid_t>(uid));
  return user == nullptr ? std::to_string(uid) : user->pw_name;
}

std::string line_of(const nlohmann::json& line) {
  const auto at = std::chrono::milliseconds(number_at<std::int64_t>(line, "at_ms").value_or(0));
  const auto job = number_at<std::int64_t>(line, "job");
  const bool is_own = text_at(line, "what") == "daemon";  // nobody asked for it
  const auto text = fmt::format("{:>6}  {}Z  {:12}  {:9}  {:>7}  {:9}  {}",
                                number_at<std::int64_t>(line, "id").value_or(0), base::rfc3339(at).substr(0, 19),
                                is_own ? "the daemon" : user_of(number_at<std::int64_t>(line, "uid").value_or(-1)),
                                is_own ? "by itself" : text_at(line, "what"), job ? fmt::format("job {}", *job) : "",
                                text_at(line, "state"), base::printable_line(text_at(line, "details")));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

int audit(const AuditOptions& options) {
  std::string target = fmt::format("/v1/audit?limit={}", options.limit);
  if (options.after) target += fmt::format("&after={}", *options.after);
  const auto answer = ask_daemon(*options.address, "GET", target);
  if (options.address->json) {
    print_json(answer);
  } else {
    for (const auto& line : list_of(*options.address, answer, "audit")) print_line(line_of(line));
  }
  return 0;
}

}  // namespace

void add_daemon_audit(CLI::App& daemon, Front& front, const std::shared_ptr<DaemonAddress>& address) {
  CLI::App* command = add_command(daemon, "audit", "Print who requested what: the newest lines, oldest first",
                                  "esper daemon audit\n         esper daemon audit --after 1000 --json");
  const auto options = std::make_shared<AuditOptions>();
  options->address = address;
  command->add_option("--after", options->after, "Only lines after this one, starting with the oldest of them")
      ->type_name("ID")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max(), "NONNEGATIVE"));
  command->add_option("--limit", options->limit, "At most this many lines; default: 1000")
      ->type_name("N")
      ->check(CLI::Range(1, 10000));
  add_daemon_options(*command, *address);
  command->callback([&front, options] { front.run = [options] { return audit(*options); }; });
}

}  // namespace esper
