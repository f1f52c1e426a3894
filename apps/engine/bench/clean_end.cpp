#include "engine/bench/clean_end.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/text/standard_output.h"
#include "base/text/text_outlet.h"
#include "engine/bench/progress.h"

namespace esper::engine::bench {
namespace {

constexpr char kFinalMessage[] = "interrupted; the measurement was cancelled";

std::atomic<int> signal_pipe{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void emit(int end, int signal) {
  const auto word = static_cast<unsigned char>(signal);
  while (::write(end, &word, 1) < 0 && errno == EINTR) {
  }
}

void on_signal(int signal) {
  const int earlier = errno;
  emit(signal_pipe, signal);
  errno = earlier;
}

// In the form that the front gives every error.
std::string json_error(base::ExitCode code) {
  const nlohmann::ordered_json error = {{"code", base::name_of(code)},
                                        {"exit_code", static_cast<int>(code)},
                                        {"text", kFinalMessage},
                                        {"problems", nlohmann::ordered_json::array()}};
  return base::json_text({{"error", error}});
}

// Other threads may be making files in it at this very moment.
void remove_folder(const std::string& folder) {
  constexpr int kTries = 50;
  std::error_code ignored;
  for (int i = 0; i < kTries && std::filesystem::exists(folder, ignored); ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::filesystem::remove_all(folder, ignored);
  }
}

}  // namespace

CleanEnd::CleanEnd(const Scratch& scratch, const Job& job) : folder_(scratch.folder()), prints_json_(job.json) {
  if (pipe2(ends_, O_CLOEXEC) != 0) {
    throw base::Error(base::ExitCode::kResources,
                      "cannot create the signal pipe: " + std::generic_category().message(errno));
  }
  signal_pipe = ends_[1];
  watcher_ = std::thread([this] { watch(); });
  signals_.emplace(on_signal);
}

CleanEnd::~CleanEnd() {
  signals_.reset();
  emit(ends_[1], 0);
  watcher_.join();
  close(ends_[0]);
  close(ends_[1]);
}

void CleanEnd::watch() const {
  unsigned char signal = 0;
  while (read(ends_[0], &signal, 1) < 0 && errno == EINTR) {
  }
  if (signal == 0) return;
  end_progress();
  base::print_failure(kFinalMessage);
  remove_folder(folder_);
  if (prints_json_) base::write_output_in_time(json_error(static_cast<base::ExitCode>(128 + signal)));
  _exit(128 + signal);
}

}  // namespace esper::engine::bench
