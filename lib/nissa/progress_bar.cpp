#include "nissa/progress_bar.h"

#include <sys/ioctl.h>

#include <system_error>
#include <utility>

#include "nissa/descriptor.h"
#include "nissa/signal_free_thread.h"

namespace esper::nissa {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kBetweenDraws = std::chrono::milliseconds(100);
constexpr leyline::Duration kWriteDeadline = std::chrono::seconds(1);
constexpr const char* kClearLine = "\r\x1b[K";

int num_columns(int terminal) {
  winsize size{};
  return ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

ProgressBar::ProgressBar(std::shared_ptr<const leyline::Progress> progress, int terminal, Colour colour)
    : progress_(std::move(progress)), terminal_(terminal), colour_(colour) {
  thread_ = start_signal_free_thread([this] { run(); });
}

ProgressBar::~ProgressBar() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (!shown_.empty()) write_all(terminal_, kClearLine, kWriteDeadline);
}

void ProgressBar::set_result(std::optional<double> loss, std::optional<double> accuracy) {
  const std::scoped_lock lock(mutex_);
  loss_ = loss;
  accuracy_ = accuracy;
}

void ProgressBar::print_above(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  const auto result = write_all(terminal_, kClearLine + std::string(text) + shown_, kWriteDeadline);
  if (result.error != 0) throw std::system_error(result.error, std::generic_category(), "console");
}

void ProgressBar::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kBetweenDraws, [&] { return stopping_; })) {
    auto view = look();
    const double fraction = done_fraction(view);
    if (!start_fraction_ && view.phase != leyline::Phase::kStarting) {
      start_fraction_ = fraction;
      since_ = Clock::now();
    }
    if (start_fraction_ && fraction > *start_fraction_) {
      const double elapsed = std::chrono::duration<double>(Clock::now() - since_).count();
      view.seconds_left = elapsed * (1 - fraction) / (fraction - *start_fraction_);
    }
    auto line = bar_line(view, num_columns(terminal_), colour_);
    if (line == shown_) continue;
    shown_ = std::move(line);
    write_all(terminal_, kClearLine + shown_, kWriteDeadline);  // a bar that cannot be drawn is no loss
  }
}

BarView ProgressBar::look() const {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  BarView view;
  view.epoch = progress_->epoch.load(kRelaxed);
  view.epochs = progress_->epochs.load(kRelaxed);
  view.step = progress_->step.load(kRelaxed);
  view.steps = progress_->steps.load(kRelaxed);
  view.phase = progress_->phase.load(kRelaxed);
  view.loss = loss_;
  view.accuracy = accuracy_;
  return view;
}

}  // namespace esper::nissa
