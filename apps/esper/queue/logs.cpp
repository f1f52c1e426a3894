// `esper logs`: what a job's training prints.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file_system.h"
#include "base/text/json_fields.h"
#include "base/text/json_struct.h"
#include "base/text/printable.h"
#include "base/text/standard_output.h"
#include "base/text/utf8.h"
#include "esper/front.h"
#include "esper/queue/daemon_client.h"
#include "esper/queue/job_events.h"
#include "esper/queue/job_requests.h"

namespace esper {
namespace {

using Kind = JobEvents::Seen::Kind;

struct LogOptions {
  DaemonAddress address;
  std::int64_t job = 0;
  bool follow = false;
};

// What of the output was read, as text or as an object for each line.
class OutputWriter {
 public:
  explicit OutputWriter(const LogOptions& options) : options_(options) {}

  // A piece that ends with a whole character.
  void write(std::string_view text) {
    if (!options_.address.json) return print(base::printable(text));
    for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      line_ += text.substr(0, end);
      write_line();
      text.remove_prefix(end + 1);
    }
    line_ += text;
    if (line_.size() > kMostJsonLineBytes) write_line();
  }
  // A line without an end is one as well.
  void finish() {
    if (!line_.empty()) write_line();
  }

 private:
  void write_line() {
    const auto document = base::json_line({{"job", options_.job}, {"line", std::exchange(line_, {})}});
    base::write_output(base::printable_json(document) + "\n");
  }

  static constexpr std::size_t kMostJsonLineBytes = 1 << 20;
  const LogOptions& options_;
  std::string line_;
};

// The job's output, of all its attempts: they append to one file, until an attempt finds it full and begins a new one.
class Output {
 public:
  Output(std::string path, OutputWriter& writer) : path_(std::move(path)), writer_(writer) {}

  // False: there is none yet.
  bool is_there() {
    if (!file_.is_open()) file_ = base::Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    return file_.is_open();
  }

  // What came since the last call, but for a character that has not arrived whole.
  void print_new() {
    if (!is_there()) return;
    print_rest();
    if (!has_new_file()) return;
    print_rest();
    file_.reset();
    changes_.reset();
    if (is_there()) print_rest();
  }

  // Nothing more comes.
  void finish() {
    if (!unprinted_.empty()) writer_.write(std::exchange(unprinted_, {}));
    writer_.finish();
  }

  // For poll(2): readable once the file has grown; -1: there is none yet.
  int changes() {
    if (changes_.is_open() || !is_there()) return changes_.number();
    changes_ = base::Descriptor(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!changes_.is_open() || ::inotify_add_watch(changes_.number(), path_.c_str(), IN_MODIFY) < 0)
      throw base::IoError("watch", path_, errno);
    return changes_.number();
  }
  void take_changes() {
    std::array<char, 4096> ignored{};
    while (changes_.is_open() && ::read(changes_.number(), ignored.data(), ignored.size()) > 0) {
    }
  }

 private:
  void print_rest() {
    std::array<char, 65536> bytes{};
    ssize_t got = 0;
    while ((got = ::read(file_.number(), bytes.data(), bytes.size())) > 0) {
      unprinted_.append(bytes.data(), static_cast<std::size_t>(got));
      const auto whole = unprinted_.size() - bytes_of_cut_character();
      writer_.write(std::string_view(unprinted_).substr(0, whole));
      unprinted_.erase(0, whole);
    }
  }

  // Whether another file has taken the place of the one that is open.
  bool has_new_file() const {
    struct stat ours{}, there{};
    if (::fstat(file_.number(), &ours) < 0 || ::lstat(path_.c_str(), &there) < 0) return false;
    return ours.st_dev != there.st_dev || ours.st_ino != there.st_ino;
  }

  // At the end.
  std::size_t bytes_of_cut_character() const {
    constexpr std::size_t kLongest = 4;
    for (std::size_t bytes = 1; bytes < std::min(kLongest, unprinted_.size() + 1); ++bytes) {
      const auto first = static_cast<unsigned char>(unprinted_[unprinted_.size() - bytes]);
      if (first < 0x80) return 0;
      if (first < 0xC0) continue;
      const std::size_t needed = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
      return needed > bytes ? bytes : 0;
    }
    return 0;
  }

  const std::string path_;
  OutputWriter& writer_;
  base::Descriptor file_, changes_;
  std::string unprinted_;
};

bool has_job_ended(const LogOptions& options) {
  return has_ended(ask_daemon(options.address, "GET", job_target(options.job)));
}

// Until the job has ended, whatever becomes of its attempts.
void follow(const LogOptions& options, Output& output) {
  JobEvents events(options.address);
  bool is_over = has_job_ended(options);
  while (true) {
    output.print_new();
    if (is_over) return;
    const int changes = output.changes();
    if (changes >= 0) output.print_new();  // what came before it was watched
    base::wait_until_readable({events.descriptor(), changes});
    output.take_changes();
    output.print_new();
    bool is_concerned = false;
    for (auto seen = events.next({}); seen.kind != Kind::kNothing; seen = events.next({}))
      is_concerned |= seen.concerns(options.job);
    if (is_concerned) is_over = has_job_ended(options);
  }
}

// Where there is no output, unless it may come and is waited for.
void refuse_without_output(const LogOptions& options, const nlohmann::json& job, const std::string& path) {
  const bool is_over = has_ended(job);
  if (!is_over && options.follow) return;
  if (!is_over)
    throw base::Error(base::ExitCode::kTryAgain, fmt::format("job {} has printed nothing yet", options.job));
  const bool has_begun = base::number_at<std::int64_t>(job, "started_ms").value_or(0) > 0;
  throw base::Error(base::ExitCode::kConfig,
                    has_begun ? fmt::format("the output of job {} is gone: there is no {}", options.job, path)
                              : fmt::format("job {} ended before it was started, and printed nothing", options.job));
}

int show_log(const LogOptions& options) {
  const auto job = ask_daemon(options.address, "GET", job_target(options.job));
  const std::string path = fmt::format("{}/jobs/{:06}/output.log", state_dir_of(options.address), options.job);
  OutputWriter writer(options);
  Output output(path, writer);
  if (!output.is_there()) refuse_without_output(options, job, path);
  if (options.follow) {
    follow(options, output);
  } else {
    output.print_new();
  }
  output.finish();
  return 0;
}

}  // namespace

void add_logs(Front& front) {
  CLI::App* command = add_command(front.root, "logs", "Print what a job's training prints", "esper logs -f 12");
  const auto options = std::make_shared<LogOptions>();
  command->add_option("job", options->job, "Job number")->required()->type_name("JOB")->check(job_or_sweep_number());
  command->add_flag("-f,--follow", options->follow, "Keep printing until the job has ended");
  add_daemon_options(*command, options->address);
  command->callback([&front, options] { front.run = [options] { return show_log(*options); }; });
}

}  // namespace esper
