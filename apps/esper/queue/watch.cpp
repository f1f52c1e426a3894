// `esper jobs --watch`.
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ranges>

#include "base/text/standard_output.h"
#include "esper/queue/change_lines.h"
#include "esper/queue/job_events.h"
#include "esper/queue/job_list.h"
#include "esper/queue/job_requests.h"
#include "esper/queue/quit_on_interrupt.h"
#include "jobs/job/job_states.h"

namespace esper {
namespace {

using nlohmann::json;
using Kind = JobEvents::Seen::Kind;

constexpr auto kGathering = std::chrono::milliseconds(100);  // of changes that come together: one redraw
constexpr int kTickMs = 1000;                                // of the times of running jobs
constexpr const char* kBeginScreen = "\x1b[?1049h\x1b[?25l";
constexpr const char* kEndScreen = "\x1b[?25h\x1b[?1049l";

struct TerminalSize {
  int rows = 24, columns = 80;
};

TerminalSize terminal_size() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
  return known ? TerminalSize{size.ws_row, size.ws_col} : TerminalSize{};
}

// A changed window interrupts poll(2), so that the table is drawn again.
class WindowChanges {
 public:
  WindowChanges() {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    ::sigaction(SIGWINCH, &action, &before_);
  }
  ~WindowChanges() { ::sigaction(SIGWINCH, &before_, nullptr); }
  WindowChanges(const WindowChanges&) = delete;
  WindowChanges& operator=(const WindowChanges&) = delete;

 private:
  struct sigaction before_{};
};

// The other screen of the terminal, for as long as the table is shown.
class Screen {
 public:
  Screen() { base::write_output(kBeginScreen); }
  ~Screen() {
    try {
      base::write_output(kEndScreen);
    } catch (const std::exception&) {  // nobody sees it
    }
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
};

// As many jobs as the terminal has lines for.
std::int64_t jobs_shown(const JobListOptions& options) {
  constexpr int kOtherLines = 3;  // the title, the table's titles, the cursor's line
  return std::min<std::int64_t>(options.most(), std::max(terminal_size().rows - kOtherLines, 1));
}

void draw(const json& answer) {
  const auto& jobs = answer.at("jobs");
  const auto style = table_style(jobs);
  const auto title = fmt::format("{}{}, the newest last; Ctrl-C ends this",
                                 answer.value("more", false) ? "the newest " : "", counted(jobs.size(), "job"));
  const auto text = title.substr(0, std::max<std::size_t>(style.columns, 1) - 1) + "\n" + job_table(jobs, style);
  std::string frame = "\x1b[H";
  for (const auto line : std::views::split(text, '\n')) {
    if (!line.empty()) frame.append(line.begin(), line.end()).append("\x1b[K\r\n");
  }
  base::write_output(frame + "\x1b[J");
}

// All changes that came in a short time; false: none came, but the times of running jobs may be shown again.
bool wait_for_change(JobEvents& events, const json& jobs) {
  const bool runs = std::ranges::any_of(jobs, [](const json& job) { return is_active(state_of(job)); });
  pollfd waiting{events.descriptor(), POLLIN, 0};
  if (::poll(&waiting, 1, runs ? kTickMs : -1) <= 0) return false;
  const auto until = std::chrono::steady_clock::now() + kGathering;
  bool has_changed = false;
  for (auto left = base::Duration(kGathering); left > base::Duration(0);
       left = until - std::chrono::steady_clock::now()) {
    const auto seen = events.next(left);
    has_changed |= seen.kind != Kind::kNothing;
  }
  return has_changed;
}

int watch_on_terminal(const JobListOptions& options) {
  JobEvents events(options.address);
  const WindowChanges window;
  const QuitOnInterrupt quit(STDOUT_FILENO, kEndScreen);
  const Screen screen;
  while (true) {
    const auto most = jobs_shown(options);
    const auto answer = listed_jobs(options, most);
    do draw(answer);
    while (!wait_for_change(events, answer.at("jobs")) && jobs_shown(options) == most);
  }
}

int watch_in_lines(const JobListOptions& options) {
  JobEvents events(options.address);
  const QuitOnInterrupt quit(STDERR_FILENO, "");
  ChangeLines lines(options);
  const auto take_all = [&] {
    auto answer = listed_jobs(options, options.most());
    lines.forget_others(answer.at("jobs"));
    for (const auto& job : answer.at("jobs")) base::write_output(lines.line_of(job));
    return answer;
  };
  report_more(options, take_all());
  while (true) {
    for (auto seen = events.next({}); seen.kind != Kind::kNothing; seen = events.next({})) {
      if (seen.kind == Kind::kMissed) take_all();
      if (seen.kind == Kind::kJob) base::write_output(lines.line_of(seen.job));
    }
    base::wait_until_readable({events.descriptor()});
  }
}

}  // namespace

int watch_jobs(const JobListOptions& options) {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1 && !options.address.json;
  return is_terminal ? watch_on_terminal(options) : watch_in_lines(options);
}

}  // namespace esper
