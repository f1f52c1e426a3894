#include "nissa/progress_bar.h"

#include <sys/ioctl.h>

#include <exception>
#include <utility>

#include "nissa/signal_free_thread.h"

namespace esper::nissa {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr auto kBetweenDraws = std::chrono::milliseconds(100);
constexpr const char* kClearLine = "\r\x1b[K";

int num_columns(int terminal) {
  winsize size{};
  return ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

ProgressBar::ProgressBar(std::shared_ptr<const leyline::Progress> progress, base::TextOutlet& terminal, Colour colour)
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
  if (!shown_.empty()) terminal_.write(kClearLine);
}

void ProgressBar::set_result(std::uint32_t epoch, std::optional<double> loss, std::optional<double> accuracy) {
  const std::scoped_lock lock(mutex_);
  finished_epoch_ = epoch;
  loss_ = loss;
  accuracy_ = accuracy;
}

int ProgressBar::print_above(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  shown_ = line();
  return terminal_.write(kClearLine + std::string(text) + shown_);
}

void ProgressBar::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kBetweenDraws, [&] { return stopping_; })) {
    try {
      auto now = line();
      if (now == shown_) continue;
      shown_ = std::move(now);
      terminal_.write(kClearLine + shown_);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
      // Out of memory, say: a bar that cannot be drawn is no loss.
    }
  }
}

BarView ProgressBar::look() {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  BarView view;
  view.epoch = progress_->epoch.load(kRelaxed);
  view.epochs = progress_->epochs.load(kRelaxed);
  view.step = progress_->step.load(kRelaxed);
  view.steps = progress_->steps.load(kRelaxed);
  view.phase = progress_->phase.load(kRelaxed);
  view.loss = loss_;
  view.accuracy = accuracy_;
  const double fraction = done_fraction(view);
  if (!start_fraction_ && view.phase != leyline::Phase::kStarting) {
    start_fraction_ = fraction;
    since_ = SteadyClock::now();
  }
  if (start_fraction_ && fraction > *start_fraction_) {
    const double elapsed = std::chrono::duration<double>(SteadyClock::now() - since_).count();
    view.seconds_left = elapsed * (1 - fraction) / (fraction - *start_fraction_);
  }
  return view;
}

std::string ProgressBar::line() {
  const BarView view = look();
  const bool has_result = finished_epoch_ > 0 && view.epoch <= finished_epoch_;
  return has_result ? "" : bar_line(view, num_columns(terminal_.descriptor()), colour_);
}

}  // namespace esper::nissa
