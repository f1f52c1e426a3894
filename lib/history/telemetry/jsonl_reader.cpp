#include "history/telemetry/jsonl_reader.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/expected.h"
#include "base/text/json_fields.h"
#include "nissa/telemetry_files.h"

namespace esper::history {

using base::Descriptor;
using nissa::earlier_telemetry;
using nissa::open_telemetry;

namespace {

constexpr std::size_t kLongestLine = 16 << 20;
constexpr std::size_t kBytesAtOnce = 1 << 20;
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
    return base::failure(base::plain_reason(error));
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
        refuse_line("longer than 16 MiB");
      } else if (refused_.empty()) {
        line_.append(part);
      }
      if (end == std::string_view::npos) return;
      finish_line("");
      block.remove_prefix(end + 1);
    }
  }
  // Zeros are in no packet.
  void take_zeros() { refuse_line("holds a block of zeros"); }
  // Of one file.
  void finish() {
    if (has_line()) finish_line("the file ends within this line");
  }

 private:
  bool has_line() const { return !line_.empty() || !refused_.empty(); }
  // What follows of it is not held.
  void refuse_line(std::string_view why) {
    refused_ = why;
    line_.clear();
  }

  void finish_line(std::string_view torn) {
    ++number_;
    if (has_line()) take_line(torn);
    line_.clear();
    refused_ = {};
  }

  void take_line(std::string_view torn) {
    const auto packet = parse();
    if (packet) {
      ++report_.packets;
      on_packet_(*packet);
      return;
    }
    ++report_.damaged_total;
    if (report_.damaged.size() < JsonlReport::kDamagedMoved) {
      report_.damaged.push_back({number_, torn.empty() ? packet.error() : std::string(torn)});
    }
  }

  base::Expected<nlohmann::json> parse() {
    if (!refused_.empty()) return base::failure(std::string(refused_));
    if (wanted_ && thin_line(line_, wanted_, thin_)) {
      if (auto packet = parse_packet(thin_)) return packet;
    }
    return parse_packet(line_);
  }

  const std::function<void(const nlohmann::json&)>& on_packet_;
  const WantedMetric& wanted_;
  JsonlReport& report_;
  std::string line_, thin_;
  std::string_view refused_;  // why the present line is none; empty: it may be one
  std::size_t number_ = 0;
};

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw base::Error(base::ExitCode::kData,
                    path.string() + ": cannot be read: " + std::generic_category().message(error));
}

bool are_zeros(std::string_view block) {
  return block.front() == 0 && std::memcmp(block.data(), block.data() + 1, block.size() - 1) == 0;
}

// Goes on behind a hole, whose zeros the disk does not have; stays where there is none, or the file system knows none.
// What a writer appends meanwhile is behind the end that is measured first.
void pass_hole(const Descriptor& file) {
  const auto here = ::lseek(file.number(), 0, SEEK_CUR), end = ::lseek(file.number(), 0, SEEK_END);
  const auto data = ::lseek(file.number(), here, SEEK_DATA);
  if (data < 0) ::lseek(file.number(), errno == ENXIO ? end : here, SEEK_SET);
}

void read_file(const std::filesystem::path& path, const Descriptor& file, LineReader& lines) {
  if (!file.is_open()) fail(path, errno);
  std::vector<char> block(kBytesAtOnce);
  for (;;) {
    const auto count = ::read(file.number(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, errno);
    if (count == 0) break;
    const std::string_view text(block.data(), static_cast<std::size_t>(count));
    if (!are_zeros(text)) {
      lines.take(text);
      continue;
    }
    lines.take_zeros();
    pass_hole(file);
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
