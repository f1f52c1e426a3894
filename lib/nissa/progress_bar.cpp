#include "nissa/progress_bar.h"

#include <sys/ioctl.h>

#include <chrono>
#include <exception>
#include <utility>

#include "nissa/signal_free_thread.h"

namespace esper::nissa {
namespace {

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
  result_ = {epoch, loss, accuracy};
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
  view.loss = result_.loss;
  view.accuracy = result_.accuracy;
  const double done = done_fraction(view);
  const auto now = std::chrono::steady_clock::now();
  if (view.phase != leyline::Phase::kStarting) remaining_.start(done, now);
  view.seconds_left = remaining_.seconds(done, now);
  return view;
}

std::string ProgressBar::line() {
  const BarView view = look();
  const bool has_result = result_.epoch > 0 && view.epoch <= result_.epoch;
  return has_result ? "" : bar_line(view, num_columns(terminal_.descriptor()), colour_);
}

}  // namespace esper::nissa
