#pragma once
// A progress bar on a terminal's last line, drawn by its own thread at most ten times a second.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/text/text_outlet.h"
#include "leyline/progress.h"
#include "nissa/console_text.h"
#include "nissa/remaining_time.h"

namespace esper::nissa {

// Follows the terminal's width. Draws only what has changed, and nothing of an epoch whose result is known.
class ProgressBar {
 public:
  // terminal: outlives the bar.
  ProgressBar(std::shared_ptr<const leyline::Progress> progress, base::TextOutlet& terminal, Colour colour);
  // Clears the bar's line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // What the last finished epoch reached; it counts from 1. Any thread.
  void set_result(std::uint32_t epoch, std::optional<double> loss, std::optional<double> accuracy);
  // Writes text (whole lines, each with its newline) above the bar; as TextOutlet::write. Any thread.
  int print_above(std::string_view text);

 private:
  struct Result {
    std::uint32_t epoch = 0;  // 0: no epoch has finished
    std::optional<double> loss, accuracy;
  };

  void run();
  // With mutex_ held.
  BarView look();
  std::string line();

  const std::shared_ptr<const leyline::Progress> progress_;
  base::TextOutlet& terminal_;
  const Colour colour_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::string shown_;
  Result result_;
  RemainingTime remaining_;
  std::thread thread_;
};

}  // namespace esper::nissa
