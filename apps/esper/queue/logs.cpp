// `esper logs`: what a job's training prints.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file_system.h"
#include "base/names.h"
#include "base/text/printable.h"
#include "esper/front.h"
#include "esper/queue/daemon_client.h"
#include "jobs/job/job_states.h"

namespace esper {
namespace {

struct LogOptions {
  DaemonAddress address;
  std::int64_t job = 0;
  bool follow = false;
};

constexpr int kLookAgainMs = 1000;

void print_new(int file) {
  std::array<char, 65536> bytes{};
  ssize_t got = 0;
  while ((got = ::read(file, bytes.data(), bytes.size())) > 0)
    print(base::printable({bytes.data(), static_cast<std::size_t>(got)}));
}

bool has_ended(const LogOptions& options) {
  const auto job = ask_daemon(options.address, "GET", fmt::format("/v1/jobs/{}", options.job));
  const auto state = base::from_name<jobs::JobState>(job.value("state", ""));
  return state && is_terminal(*state);
}

// Until the job has ended. The file tells of changes; the job is asked for only while it is silent.
void follow(const LogOptions& options, int file, const std::string& path) {
  const base::Descriptor changes(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!changes.is_open() || ::inotify_add_watch(changes.number(), path.c_str(), IN_MODIFY) < 0)
    throw base::IoError("watch", path, errno);
  std::array<char, 4096> ignored{};
  while (true) {
    pollfd waiting{changes.number(), POLLIN, 0};
    const bool is_silent = ::poll(&waiting, 1, kLookAgainMs) == 0;
    const bool is_over = is_silent && has_ended(options);
    while (::read(changes.number(), ignored.data(), ignored.size()) > 0) {
    }
    print_new(file);
    if (is_over) return;
  }
}

int show_log(const LogOptions& options) {
  ask_daemon(options.address, "GET", fmt::format("/v1/jobs/{}", options.job));
  const std::string path = fmt::format("{}/jobs/{:06}/output.log", state_dir_of(options.address), options.job);
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open())
    throw base::Error(base::ExitCode::kTryAgain, fmt::format("job {} has printed nothing yet", options.job));
  print_new(file.number());
  if (options.follow) follow(options, file.number(), path);
  return 0;
}

}  // namespace

void add_logs(Front& front) {
  CLI::App* command = add_command(front.root, "logs", "Print what a job's training prints", "esper logs -f 12");
  const auto options = std::make_shared<LogOptions>();
  command->add_option("job", options->job, "Job number")->required()->type_name("JOB")->check(CLI::PositiveNumber);
  command->add_flag("-f,--follow", options->follow, "Go on until the job has ended");
  add_daemon_options(*command, options->address);
  command->callback([&front, options] { front.run = [options] { return show_log(*options); }; });
}

}  // namespace esper
