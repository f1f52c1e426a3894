#include "nissa/hub.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "leyline/clock.h"
#include "leyline/telemetry.h"
#include "nissa/log.h"
#include "nissa/signal_free_thread.h"

namespace esper::nissa {

using leyline::TelemetryPacket;
using namespace leyline::literals;

// Shared by the hub and its worker; whoever ends last releases it.
struct Hub::State {
  explicit State(std::size_t queue_capacity) : capacity(queue_capacity) {}

  const std::size_t capacity;
  mutable std::mutex mutex;
  std::condition_variable work;     // the worker waits: a packet, or closing
  std::condition_variable handled;  // flush and shutdown wait: a packet was handled, or the worker ended
  std::deque<TelemetryPacket> queue;
  std::uint64_t num_accepted = 0, num_handled = 0;
  HubCounts counts;
  bool closing = false, ended = false;

  // The next packet, waiting for it; none when the hub is closing and nothing waits.
  std::optional<TelemetryPacket> next() {
    std::unique_lock lock(mutex);
    work.wait(lock, [&] { return closing || !queue.empty(); });
    if (queue.empty()) return std::nullopt;
    auto packet = std::move(queue.front());
    queue.pop_front();
    return packet;
  }
  void count_handled(std::uint64_t errors) {
    const std::scoped_lock lock(mutex);
    ++num_handled;
    ++counts.delivered;
    counts.sink_errors += errors;
    handled.notify_all();
  }
  void end() {
    const std::scoped_lock lock(mutex);
    ended = true;
    handled.notify_all();
  }
  HubCounts read_counts() const {
    const std::scoped_lock lock(mutex);
    return counts;
  }
};

namespace {

struct WatchedSink {
  NamedSink named;
  bool failing = false;

  // Whether the packet was delivered. Says the first failure of a row, and the recovery.
  bool deliver(const TelemetryPacket& packet) {
    const auto failed = [&](const char* why) {
      if (!failing) {
        log::warning("telemetry sink " + named.name + ": " + why + "; lost packets are counted, training goes on");
      }
      failing = true;
      return false;
    };
    try {
      named.sink->emit(packet);
    } catch (const std::exception& error) {
      return failed(error.what());
    } catch (...) {
      return failed("unknown failure");
    }
    if (failing) log::info("telemetry sink " + named.name + ": works again");
    failing = false;
    return true;
  }
};

// Puts the hub's own losses into packets, once per change.
class LossReport {
 public:
  bool pending(const HubCounts& counts) const {
    return counts.dropped != reported_.dropped || counts.sink_errors != reported_.sink_errors;
  }
  void add_to(TelemetryPacket& packet, const HubCounts& counts) {
    packet.metrics.push_back(metric("nissa.packets_total"_metric, static_cast<double>(counts.delivered)));
    packet.metrics.push_back(metric("nissa.dropped_total"_metric, static_cast<double>(counts.dropped)));
    packet.metrics.push_back(metric("nissa.sink_errors_total"_metric, static_cast<double>(counts.sink_errors)));
    reported_ = counts;
  }

 private:
  HubCounts reported_;
};

TelemetryPacket last_packet() {
  TelemetryPacket packet;
  packet.packet_id = "nissa-losses";
  packet.timestamp = leyline::rfc3339(leyline::Clock().wall());
  packet.source_subsystem = "nissa";
  packet.system_health.summary = "telemetry was lost";
  packet.system_health.status = leyline::Health::kDegraded;
  return packet;
}

std::uint64_t deliver(std::vector<WatchedSink>& sinks, const TelemetryPacket& packet) {
  std::uint64_t errors = 0;
  for (auto& sink : sinks) errors += sink.deliver(packet) ? 0 : 1;
  return errors;
}

}  // namespace

void Hub::work(const std::shared_ptr<State>& state, std::vector<NamedSink> named) {
  std::vector<WatchedSink> sinks;
  for (auto& sink : named) sinks.push_back({std::move(sink)});
  LossReport losses;
  while (auto packet = state->next()) {
    if (const auto counts = state->read_counts(); losses.pending(counts)) losses.add_to(*packet, counts);
    state->count_handled(deliver(sinks, *packet));
  }
  if (const auto counts = state->read_counts(); losses.pending(counts)) {
    auto packet = last_packet();
    losses.add_to(packet, counts);
    deliver(sinks, packet);
  }
  sinks.clear();
  state->end();
}

Hub::Hub(std::size_t capacity, std::vector<NamedSink> sinks) : state_(std::make_shared<State>(capacity)) {
  worker_ =
      start_signal_free_thread([state = state_, named = std::move(sinks)]() mutable { work(state, std::move(named)); });
}

Hub::~Hub() { shutdown(kShutdownDeadline); }

void Hub::emit(const TelemetryPacket& packet) {
  auto copy = std::optional<TelemetryPacket>();
  try {
    copy = packet;
    const std::scoped_lock lock(state_->mutex);
    if (!state_->closing && state_->queue.size() < state_->capacity) {
      state_->queue.push_back(std::move(*copy));
      ++state_->num_accepted;
      state_->work.notify_one();
      return;
    }
  } catch (const std::bad_alloc&) {
    // Out of memory: this packet is lost like one that found the queue full.
  }
  const std::scoped_lock lock(state_->mutex);
  ++state_->counts.dropped;
}

Delivery Hub::flush(leyline::Duration deadline) {
  std::unique_lock lock(state_->mutex);
  const auto until = std::chrono::steady_clock::now() + deadline;
  const auto wanted = state_->num_accepted;
  const bool done =
      state_->handled.wait_until(lock, until, [&] { return state_->ended || state_->num_handled >= wanted; });
  return done && state_->num_handled >= wanted ? Delivery::kComplete : Delivery::kLate;
}

Delivery Hub::shutdown(leyline::Duration deadline) {
  if (!worker_.joinable()) return outcome_;
  std::unique_lock lock(state_->mutex);
  const auto until = std::chrono::steady_clock::now() + deadline;
  state_->closing = true;
  state_->work.notify_one();
  if (!state_->handled.wait_until(lock, until, [&] { return state_->ended; })) {
    state_->counts.dropped += state_->queue.size();
    state_->queue.clear();
  }
  const bool ended = state_->ended;
  lock.unlock();
  ended ? worker_.join() : worker_.detach();
  outcome_ = ended ? Delivery::kComplete : Delivery::kLate;
  return outcome_;
}

HubCounts Hub::counts() const { return state_->read_counts(); }

}  // namespace esper::nissa
