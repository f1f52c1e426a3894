#include "nissa/hub.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/log.h"
#include "nissa/signal_free_thread.h"

namespace esper::nissa {

using leyline::TelemetryPacket;
using namespace leyline::literals;
using SharedPacket = std::shared_ptr<const TelemetryPacket>;
using SteadyClock = std::chrono::steady_clock;

namespace {

// What waits for one sink, and how far its worker is.
struct Lane {
  std::deque<SharedPacket> queue;
  std::uint64_t num_accepted = 0, num_handled = 0;
  SinkCounts counts;
  bool busy = false;       // the sink has a packet
  bool drained = false;    // the hub is closing and nothing waits
  bool ended = false;      // the sink is destroyed
  bool abandoned = false;  // too late at shutdown: what its worker does is no longer counted
};

}  // namespace

// Shared by the hub and its workers; whoever ends last releases it.
struct Hub::State {
  State(std::size_t queue_capacity, std::size_t num_lanes) : capacity(queue_capacity), lanes(num_lanes) {}

  const std::size_t capacity;
  mutable std::mutex mutex;
  std::condition_variable work;      // workers wait: a packet, closing, or counts that are final
  std::condition_variable progress;  // flush and shutdown wait: a packet was handled, a lane is drained or ended
  std::vector<Lane> lanes;
  bool closing = false;
  bool settled = false;  // no packet is delivered or dropped any more

  // The lane's next packet, waiting for it; none when the hub is closing and nothing waits.
  SharedPacket next(Lane& lane) {
    std::unique_lock lock(mutex);
    work.wait(lock, [&] { return closing || !lane.queue.empty(); });
    if (lane.queue.empty()) return nullptr;
    auto packet = std::move(lane.queue.front());
    lane.queue.pop_front();
    lane.busy = true;
    return packet;
  }
  void count_handled(Lane& lane, bool delivered) {
    const std::scoped_lock lock(mutex);
    lane.busy = false;
    if (lane.abandoned) return;
    ++lane.num_handled;
    ++lane.counts.delivered;
    if (!delivered) ++lane.counts.errors;
    progress.notify_all();
  }
  void wait_until_settled(Lane& lane) {
    std::unique_lock lock(mutex);
    lane.drained = true;
    progress.notify_all();
    work.wait(lock, [&] { return settled; });
  }
  void end(Lane& lane) {
    const std::scoped_lock lock(mutex);
    lane.ended = true;
    progress.notify_all();
  }
  std::vector<SinkCounts> read_counts() const {
    const std::scoped_lock lock(mutex);
    std::vector<SinkCounts> counts;
    for (const auto& lane : lanes) counts.push_back(lane.counts);
    return counts;
  }
};

namespace {

struct WatchedSink {
  NamedSink named;
  bool failing = false;

  // Whether the packet was delivered. Reports the first failure of a row, and the recovery.
  bool deliver(const TelemetryPacket& packet) {
    const auto failed = [&](const char* why) {
      if (!failing) {
        log::warning("telemetry sink " + named.name + ": " + why + "; lost packets are counted, all else continues");
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

// Puts the losses of all sinks into the packets of one, once per change.
class LossReport {
 public:
  explicit LossReport(std::vector<SinkCounts> counts) : reported_(std::move(counts)) {}

  bool pending(const std::vector<SinkCounts>& counts) const {
    return !std::ranges::equal(counts, reported_, has_same_losses);
  }
  void add_to(TelemetryPacket& packet, const std::vector<SinkCounts>& counts) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (!has_same_losses(counts[i], reported_[i])) add(packet, counts[i]);
    }
    reported_ = counts;
  }

 private:
  static bool has_same_losses(const SinkCounts& a, const SinkCounts& b) {
    return a.dropped == b.dropped && a.errors == b.errors;
  }
  static void add(TelemetryPacket& packet, const SinkCounts& of) {
    const auto count = [&](auto handle, std::uint64_t value) {
      packet.metrics.push_back(metric(handle, static_cast<double>(value), {{"sink", of.name}}));
    };
    count("nissa.packets_total"_metric, of.delivered);
    count("nissa.dropped_total"_metric, of.dropped);
    count("nissa.sink_errors_total"_metric, of.errors);
  }

  std::vector<SinkCounts> reported_;
};

TelemetryPacket last_packet() {
  TelemetryPacket packet;
  packet.packet_id = "nissa-losses";
  packet.timestamp = base::rfc3339(base::Clock().wall());
  packet.source_subsystem = "nissa";
  packet.system_health.summary = "telemetry was lost";
  packet.system_health.status = leyline::Health::kDegraded;
  return packet;
}

// With what was lost since the last packet. Whether it was delivered; out of memory counts as a failure of the sink.
bool deliver(const auto& state, const TelemetryPacket& packet, LossReport& losses, WatchedSink& sink) {
  try {
    const auto counts = state.read_counts();
    if (!losses.pending(counts)) return sink.deliver(packet);
    TelemetryPacket with_losses = packet;
    losses.add_to(with_losses, counts);
    return sink.deliver(with_losses);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

void Hub::work(const std::shared_ptr<State>& state, std::size_t number, NamedSink named, Counts none) {
  Lane& lane = state->lanes[number];
  WatchedSink sink{std::move(named)};
  LossReport losses(std::move(none));
  while (const auto packet = state->next(lane)) state->count_handled(lane, deliver(*state, *packet, losses, sink));
  state->wait_until_settled(lane);
  try {
    if (losses.pending(state->read_counts())) deliver(*state, last_packet(), losses, sink);
  } catch (const std::bad_alloc&) {
    // The run's summary has the counts too.
  }
  sink.named.sink.reset();
  state->end(lane);
}

Hub::Hub(std::size_t capacity, std::vector<NamedSink> sinks) : state_(std::make_shared<State>(capacity, sinks.size())) {
  for (std::size_t i = 0; i < sinks.size(); ++i) state_->lanes[i].counts.name = sinks[i].name;
  const Counts none = state_->read_counts();
  workers_.reserve(sinks.size());
  try {
    for (std::size_t i = 0; i < sinks.size(); ++i) {
      workers_.push_back(start_signal_free_thread([state = state_, i, none, named = std::move(sinks[i])]() mutable {
        work(state, i, std::move(named), std::move(none));
      }));
    }
  } catch (...) {  // a thread did not start
    end_lanes_without_worker();
    shutdown(kShutdownDeadline);
    throw;
  }
}

void Hub::end_lanes_without_worker() {
  const std::scoped_lock lock(state_->mutex);
  for (std::size_t i = workers_.size(); i < state_->lanes.size(); ++i) {
    state_->lanes[i].drained = state_->lanes[i].ended = true;
  }
}

Hub::~Hub() { shutdown(kShutdownDeadline); }

void Hub::emit(const TelemetryPacket& packet) {
  SharedPacket copy;
  try {
    copy = std::make_shared<const TelemetryPacket>(packet);
  } catch (const std::bad_alloc&) {
    // Out of memory: this packet is lost like one that found the queues full.
  }
  const std::scoped_lock lock(state_->mutex);
  for (auto& lane : state_->lanes) {
    const bool has_room = copy && !state_->closing && lane.queue.size() < state_->capacity;
    try {
      if (has_room) lane.queue.push_back(copy);
      ++(has_room ? lane.num_accepted : lane.counts.dropped);
    } catch (const std::bad_alloc&) {
      ++lane.counts.dropped;
    }
  }
  state_->work.notify_all();
}

Delivery Hub::flush(base::Duration deadline) {
  std::unique_lock lock(state_->mutex);
  const auto until = SteadyClock::now() + deadline;
  std::vector<std::uint64_t> wanted;
  for (const auto& lane : state_->lanes) wanted.push_back(lane.num_accepted);
  const auto all_handled = [&] {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (state_->lanes[i].num_handled < wanted[i]) return false;
    }
    return true;
  };
  const auto none_works = [&] { return std::ranges::all_of(state_->lanes, &Lane::ended); };
  state_->progress.wait_until(lock, until, [&] { return all_handled() || none_works(); });
  return all_handled() ? Delivery::kComplete : Delivery::kLate;
}

Delivery Hub::shutdown(base::Duration deadline) {
  if (workers_.empty()) return outcome_;
  std::unique_lock lock(state_->mutex);
  auto& lanes = state_->lanes;
  state_->closing = true;
  state_->work.notify_all();
  state_->progress.wait_until(lock, SteadyClock::now() + deadline,
                              [&] { return std::ranges::all_of(lanes, &Lane::drained); });
  for (auto& lane : lanes) {
    lane.abandoned = !lane.drained;
    if (lane.abandoned) lane.counts.dropped += lane.queue.size() + (lane.busy ? 1 : 0);
    if (lane.abandoned) lane.queue.clear();
  }
  state_->settled = true;
  state_->work.notify_all();
  state_->progress.wait_until(lock, SteadyClock::now() + kLastWord, [&] {
    return std::ranges::all_of(lanes, [](const Lane& lane) { return lane.ended || lane.abandoned; });
  });
  const bool late = std::ranges::any_of(lanes, [](const Lane& lane) { return lane.abandoned || !lane.ended; });
  std::vector<bool> ended;
  for (const auto& lane : lanes) ended.push_back(lane.ended);
  lock.unlock();
  for (std::size_t i = 0; i < workers_.size(); ++i) ended[i] ? workers_[i].join() : workers_[i].detach();
  workers_.clear();
  outcome_ = late ? Delivery::kLate : Delivery::kComplete;
  return outcome_;
}

std::vector<SinkCounts> Hub::counts() const { return state_->read_counts(); }

}  // namespace esper::nissa
