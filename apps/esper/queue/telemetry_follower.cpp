#include "esper/queue/telemetry_follower.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "base/text/json_struct.h"
#include "history/telemetry/packet_reader.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/telemetry_files.h"

namespace esper {
namespace {

using namespace leyline::literals;

constexpr std::size_t kMostLineBytes = 16u << 20;
constexpr auto kBetweenLooks = std::chrono::milliseconds(200);  // for a run folder
constexpr off_t kMostOfEnd = 1 << 20;                           // of a file that is there already

bool is_about_epoch(const leyline::TelemetryPacket& packet) {
  return std::ranges::any_of(packet.metrics,
                             [](const auto& metric) { return metric.name == "tolaria.training.loss"_metric.name(); });
}

}  // namespace

TelemetryFollower::TelemetryFollower(std::string run_dir)
    : run_dir_(std::move(run_dir)), path_(run_dir_ + "/telemetry.jsonl") {}

void TelemetryFollower::read(const OnPacket& on_packet) {
  if (!std::exchange(is_first_, false)) {
    while (open_file()) {
      read_file(on_packet);
      if (!file_was_replaced()) return;
      read_file(on_packet);  // what came before it was replaced
      file_.reset();
      line_.clear();
    }
    return;
  }
  if (!open_file()) return;
  skip_to_end();
  std::vector<leyline::TelemetryPacket> packets;
  read_file([&](const leyline::TelemetryPacket& packet) {
    if (is_about_epoch(packet)) packets.clear();
    packets.push_back(packet);
  });
  for (const auto& packet : packets) on_packet(packet);
}

bool TelemetryFollower::open_file() {
  if (!file_.is_open()) file_ = nissa::open_telemetry(path_, O_RDONLY);
  return file_.is_open();
}

// Or deleted: a file that stays open keeps its folder, whose end is reported only then.
bool TelemetryFollower::file_was_replaced() const {
  struct stat ours{}, named{};
  if (::fstat(file_.number(), &ours) != 0) return false;
  if (ours.st_nlink == 0) return true;
  if (::stat(path_.c_str(), &named) != 0) return false;
  return ours.st_ino != named.st_ino || ours.st_dev != named.st_dev;
}

void TelemetryFollower::skip_to_end() {
  struct stat found{};
  if (::fstat(file_.number(), &found) != 0 || found.st_size <= kMostOfEnd) return;
  ::lseek(file_.number(), found.st_size - kMostOfEnd, SEEK_SET);
  skips_line_ = true;
}

void TelemetryFollower::read_file(const OnPacket& on_packet) {
  std::array<char, 65536> bytes{};
  ssize_t got = 0;
  while ((got = ::read(file_.number(), bytes.data(), bytes.size())) > 0) {
    std::string_view rest(bytes.data(), static_cast<std::size_t>(got));
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      line_ += rest.substr(0, end);
      take_line(on_packet);
      rest.remove_prefix(end + 1);
    }
    line_ += rest;
    if (line_.size() > kMostLineBytes) {
      line_.clear();
      skips_line_ = true;
    }
  }
}

void TelemetryFollower::take_line(const OnPacket& on_packet) {
  const std::string line = std::exchange(line_, {});
  if (std::exchange(skips_line_, false)) return;
  const auto document = base::parse_json(line, kMostLineBytes);
  if (document && document->is_object()) on_packet(history::packet_from(*document));
}

bool TelemetryFollower::wait(int other, base::Duration longest) {
  const bool was_watched = changes_.is_open();
  if (!was_watched && watch_folder()) return true;
  const auto time = was_watched ? longest : std::min<base::Duration>(longest, kBetweenLooks);
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  std::array waiting{pollfd{other, POLLIN, 0}, pollfd{changes_.number(), POLLIN, 0}};
  const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(ms));
  if (was_watched) take_changes();
  return ready > 0;
}

// False: there is no folder yet.
bool TelemetryFollower::watch_folder() {
  base::Descriptor changes(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  constexpr auto kWritten = IN_MODIFY | IN_CREATE | IN_MOVED_TO, kGone = IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
  if (!changes.is_open() || ::inotify_add_watch(changes.number(), run_dir_.c_str(), kWritten | kGone) < 0) return false;
  changes_ = std::move(changes);
  return true;
}

// A folder that has gone is watched no more: another one may come in its place.
void TelemetryFollower::take_changes() {
  alignas(inotify_event) std::array<char, 4096> bytes{};
  bool is_gone = false;
  for (ssize_t got = 0; (got = ::read(changes_.number(), bytes.data(), bytes.size())) > 0;) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof(event));
      is_gone |= (event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0;
      at += sizeof(event) + event.len;
    }
  }
  if (is_gone) changes_.reset();
}

}  // namespace esper
