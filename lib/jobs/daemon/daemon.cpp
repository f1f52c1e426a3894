#include "jobs/daemon/daemon.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>

#include "base/file_system.h"
#include "jobs/api/api.h"
#include "jobs/api/progress_feed.h"
#include "jobs/daemon/daemon_reports.h"
#include "jobs/daemon/daemon_server.h"
#include "jobs/daemon/state_folder.h"
#include "jobs/daemon/state_lock.h"
#include "jobs/database/schema.h"
#include "nissa/log.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::jobs {
namespace {

ObserverSetup machine_of(const DaemonConfig& config) {
  ObserverSetup setup{.threads = config.threads, .memory_bytes = config.memory_bytes()};
  if (config.gpu_choice == GpuChoice::kListed) setup.gpus = config.gpus;
  if (config.keep_memory_bytes() > 0) setup.kept_back.memory_bytes = config.keep_memory_bytes();
  setup.kept_back.disk_bytes = config.keep_disk_bytes();
  return setup;
}

std::string token_file_of(const DaemonOptions& options) {
  const std::string& given = options.config.http.token_file;
  return given.empty() ? options.state_dir + "/token" : given;
}

// The shims that this daemon started: how they ended is in their jobs' folders.
void reap() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

class Daemon {
 public:
  Daemon(const DaemonOptions& options, ServiceManager manager)
      : store_(open_database(options.state_dir + "/jobs.db")),
        reports_(loop_, report_setup_of(options, std::move(manager)), store_.unfinished()),
        sweeps_(store_),
        queue_(loop_, store_, sweeps_, setup_of(options), [this](const Job& job) { publish_job(job); }),
        feed_(loop_, store_, progress_,
              {.any = [this] { return server_.has_listeners(); },
               .publish = [this](const Progress& progress) { publish_progress(progress); }}),
        api_({store_, sweeps_, queue_, progress_}, facts_of(options),
             {.daemon = {.stop = [this] { stop(); }, .drained = [this] { publish_drain(); }},
              .stream_begins = [this] { feed_.wake(); }}),
        server_(loop_, [this](const http::Request& request) { return answer(request); }),
        signals_(loop_, SIGTERM, SIGINT, SIGCHLD) {}

  void run(DaemonOptions options) {
    await_signal();
    // Before anything of the queue changes; requests are answered once the loop runs.
    server_.listen(socket_of(options.state_dir), facts_of(options).loopback);
    // In the folders there are jobs of a database that is not there any more: a new one must not get theirs.
    store_.begin_after(highest_job_in(options.state_dir + "/jobs"));
    queue_.recover();
    say_ready(std::move(options.ready));
    loop_.run();
    reports_.stopping();
  }

 private:
  static QueueSetup setup_of(const DaemonOptions& options) {
    const DaemonConfig& config = options.config;
    return {.attempts = {options.state_dir + "/jobs", options.program, config.stop_grace, config.log_max_bytes()},
            .restarts = {.most_interruptions = static_cast<int>(config.most_interruptions),
                         .first_delay = config.restart_delay},
            .scheduler = {.machine = machine_of(config), .look_again = config.look_again}};
  }

  static ReportSetup report_setup_of(const DaemonOptions& options, ServiceManager manager) {
    return {.state_dir = options.state_dir,
            .version = options.version,
            .manager = std::move(manager),
            .has_telemetry = options.config.telemetry,
            .log_max_bytes = options.config.log_max_bytes()};
  }

  static DaemonFacts facts_of(const DaemonOptions& options) {
    DaemonFacts facts{options.version, options.state_dir, std::nullopt};
    const DaemonHttpConfig& http = options.config.http;
    if (http.port > 0) facts.loopback = LoopbackFacts{http.port, token_file_of(options)};
    return facts;
  }

  void say_ready(base::Descriptor waiting) {
    static constexpr std::string_view kReady = "ready\n";
    if (waiting.is_open() && ::write(waiting.number(), kReady.data(), kReady.size()) < 0)
      nissa::log::warning("the process that started this daemon does not wait for it any more");
    reports_.ready();
  }

  void await_signal() {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      reap();
      if (signal != SIGCHLD) return stop();
      await_signal();
    });
  }

  http::Response answer(const http::Request& request) {
    const auto begin = std::chrono::steady_clock::now();
    auto response = api_.answer(request);
    reports_.answered(request, response, std::chrono::steady_clock::now() - begin);
    reports_.refused(server_.counts());
    return response;
  }

  void publish_drain() {
    server_.publish("daemon", [] { return nlohmann::json{{"draining", true}}; });
  }

  void publish_job(Job job) {
    reports_.changed(job);
    feed_.changed(job);
    server_.publish("job", [&] {
      job.reason = queue_.waiting_reason(job);
      return base::to_json(job);
    });
  }

  void publish_progress(const Progress& progress) {
    server_.publish("progress", [&] { return base::to_json(progress); });
  }

  // After the response to whoever asked.
  void stop() {
    boost::asio::post(loop_, [this] { loop_.stop(); });
  }

  boost::asio::io_context loop_{1};
  JobStore store_;
  DaemonReports reports_;
  Sweeps sweeps_;
  Queue queue_;
  ProgressReader progress_;
  ProgressFeed feed_;
  Api api_;
  DaemonServer server_;
  boost::asio::signal_set signals_;
};

}  // namespace

std::string socket_of(const std::string& state_dir) { return state_dir + "/daemon.sock"; }

void run_daemon(DaemonOptions options) {
  make_state_folder(options.state_dir);
  storage::ensure_folder(storage::real_file_system(), options.state_dir + "/jobs");
  const auto lock = lock_state(options.state_dir);
  Daemon daemon(options, take_service_manager());
  daemon.run(std::move(options));
}

}  // namespace esper::jobs
