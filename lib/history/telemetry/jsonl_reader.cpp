#include "history/telemetry/jsonl_reader.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/expected.h"
#include "nissa/telemetry_files.h"

namespace esper::history {

using base::Descriptor;
using nissa::earlier_telemetry;
using nissa::open_telemetry;

namespace {

constexpr std::size_t kLongestLine = 16 << 20;
constexpr int kDeepestPacket = 16;

base::Expected<nlohmann::json> parse_packet(std::string_view text) {
  const auto shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kDeepestPacket) throw std::length_error("nested too deeply");
    return true;
  };
  nlohmann::json packet;
  try {
    packet = nlohmann::json::parse(text, shallow);
  } catch (const std::exception& error) {
    return base::failure(error.what());
  }
  for (const auto* key : {"packet_id", "metrics", "events", "system_health"}) {
    if (!packet.is_object() || !packet.contains(key)) return base::failure(std::string("not a packet: has no ") + key);
  }
  return packet;
}

class LineReader {
 public:
  LineReader(const std::function<void(const nlohmann::json&)>& on_packet, const WantedMetric& wanted,
             JsonlReport& report)
      : on_packet_(on_packet), wanted_(wanted), report_(report) {}

  void take(std::string_view block) {
    while (!block.empty()) {
      const auto end = block.find('\n');
      const auto part = block.substr(0, end);
      if (line_.size() + part.size() > kLongestLine) {
        too_long_ = true;
        line_.clear();
      } else if (!too_long_) {
        line_.append(part);
      }
      if (end == std::string_view::npos) return;
      finish_line("");
      block.remove_prefix(end + 1);
    }
  }
  // Of one file.
  void finish() {
    if (!line_.empty() || too_long_) finish_line("the file ends within this line");
  }

 private:
  void finish_line(std::string_view torn) {
    ++number_;
    const auto packet = parse();
    if (packet) {
      ++report_.packets;
      on_packet_(*packet);
    } else if (too_long_ || !line_.empty()) {
      ++report_.damaged_total;
      if (report_.damaged.size() < JsonlReport::kDamagedMoved) {
        report_.damaged.push_back({number_, torn.empty() ? packet.error() : std::string(torn)});
      }
    }
    line_.clear();
    too_long_ = false;
  }

  base::Expected<nlohmann::json> parse() {
    if (too_long_) return base::failure("longer than 16 MiB");
    if (wanted_ && thin_line(line_, wanted_, thin_)) {
      if (auto packet = parse_packet(thin_)) return packet;
    }
    return parse_packet(line_);
  }

  const std::function<void(const nlohmann::json&)>& on_packet_;
  const WantedMetric& wanted_;
  JsonlReport& report_;
  std::string line_, thin_;
  std::size_t number_ = 0;
  bool too_long_ = false;
};

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw base::Error(base::ExitCode::kData,
                    path.string() + ": cannot be read: " + std::generic_category().message(error));
}

void read_file(const std::filesystem::path& path, const Descriptor& file, LineReader& lines) {
  if (!file.is_open()) fail(path, errno);
  std::array<char, 64 << 10> block;
  for (;;) {
    const auto count = ::read(file.number(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, errno);
    if (count == 0) break;
    lines.take({block.data(), static_cast<std::size_t>(count)});
  }
  lines.finish();
}

}  // namespace

JsonlReport read_jsonl(const std::filesystem::path& path, const std::function<void(const nlohmann::json&)>& on_packet,
                       const WantedMetric& wanted) {
  JsonlReport report;
  LineReader lines(on_packet, wanted, report);
  std::uint64_t next = 1;
  for (;;) {
    for (const nissa::EarlierTelemetry& earlier : earlier_telemetry(path)) {
      if (earlier.number < next) continue;
      report.missing_files += earlier.number - next;
      next = earlier.number + 1;
      const Descriptor file = open_telemetry(earlier.path, O_RDONLY);
      if (!file.is_open() && errno == ENOENT) {  // the writer deleted it after it was listed
        ++report.missing_files;
        continue;
      }
      read_file(earlier.path, file, lines);
    }
    const Descriptor newest = open_telemetry(path, O_RDONLY);
    const int error = errno;
    const auto earlier = earlier_telemetry(path);
    if (!earlier.empty() && earlier.back().number >= next) continue;  // the writer began a new one meanwhile
    if (newest.is_open()) {
      read_file(path, newest, lines);
    } else if (error != ENOENT || earlier.empty()) {
      fail(path, error);
    }
    return report;
  }
}

std::vector<std::string> gaps_of(const JsonlReport& report) {
  std::vector<std::string> gaps;
  if (report.damaged_total > 0) {
    gaps.push_back(fmt::format("telemetry.jsonl has {}{}", report.damaged_total,
                               report.damaged_total == 1 ? " damaged line; its measurements are missing"
                                                         : " damaged lines; their measurements are missing"));
  }
  if (report.missing_files > 0) {
    gaps.push_back(
        fmt::format("{}{} of telemetry.jsonl (telemetry-000001.jsonl, ...) were deleted, by telemetry.limit_mb or by "
                    "hand; their measurements are missing",
                    report.missing_files, report.missing_files == 1 ? " earlier file" : " earlier files"));
  }
  return gaps;
}

bool has_event(const std::filesystem::path& path, std::string_view name) {
  if (!nissa::has_telemetry(path)) return false;
  const nlohmann::json wanted = name;
  bool found = false;
  const auto look = [&](const nlohmann::json& packet) {
    for (const auto& event : packet.at("events")) {
      found |= event.is_object() && event.value("description", nlohmann::json()) == wanted;
    }
  };
  read_jsonl(path, look, [](std::string_view) { return false; });
  return found;
}

}  // namespace esper::history
