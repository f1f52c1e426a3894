#include "nissa/jsonl_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "leyline/error.h"
#include "nissa/descriptor.h"
#include "storage/beneath.h"

namespace esper::nissa {
namespace {

constexpr std::size_t kLongestLine = 16 << 20;
constexpr int kDeepestNesting = 16;

// Why a text is no packet; empty if it is one.
std::string parse_packet(std::string_view text, nlohmann::json& packet) {
  const auto shallow = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kDeepestNesting) throw std::length_error("nested too deep");
    return true;
  };
  try {
    packet = nlohmann::json::parse(text, shallow);
  } catch (const std::exception& error) {
    return error.what();
  }
  for (const auto* key : {"packet_id", "metrics", "events", "system_health"}) {
    if (!packet.is_object() || !packet.contains(key)) return std::string("no packet: has no ") + key;
  }
  return "";
}

class LineReader {
 public:
  LineReader(const std::function<void(const nlohmann::json&)>& on_packet, JsonlReport& report)
      : on_packet_(on_packet), report_(report) {}

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
  void finish() {
    if (!line_.empty() || too_long_) finish_line("the file ends within this line");
  }

 private:
  void finish_line(std::string_view torn) {
    ++number_;
    nlohmann::json packet;
    auto reason = too_long_ ? "longer than 16 MiB" : parse_packet(line_, packet);
    if (reason.empty()) {
      ++report_.packets;
      on_packet_(packet);
    } else if (too_long_ || !line_.empty()) {
      ++report_.damaged_total;
      if (report_.damaged.size() < JsonlReport::kDamagedKept) {
        report_.damaged.push_back({number_, torn.empty() ? std::move(reason) : std::string(torn)});
      }
    }
    line_.clear();
    too_long_ = false;
  }

  const std::function<void(const nlohmann::json&)>& on_packet_;
  JsonlReport& report_;
  std::string line_;
  std::size_t number_ = 0;
  bool too_long_ = false;
};

// It may lie in a run folder from elsewhere.
Descriptor open_regular(const std::filesystem::path& path, const std::function<void(int)>& fail) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  try {
    return storage::Beneath(folder.string(), storage::Owner::kAnyone)
        .open_file((folder / path.filename()).string(), O_RDONLY);
  } catch (const storage::UnsafePath&) {
    throw;
  } catch (const leyline::IoError& error) {
    fail(error.error_number());
    throw;
  }
}

}  // namespace

JsonlReport read_jsonl(const std::filesystem::path& path, const std::function<void(const nlohmann::json&)>& on_packet) {
  const auto fail = [&](int error) {
    throw leyline::Error(leyline::ExitCode::kData,
                         path.string() + ": cannot be read: " + std::generic_category().message(error));
  };
  const auto file = open_regular(path, fail);
  JsonlReport report;
  LineReader lines(on_packet, report);
  std::array<char, 64 << 10> block;
  for (;;) {
    const auto count = read(file.number(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    if (count == 0) break;
    lines.take({block.data(), static_cast<std::size_t>(count)});
  }
  lines.finish();
  return report;
}

}  // namespace esper::nissa
