#include "runs/telemetry_end.h"

#include <array>

#include "base/parse_number.h"
#include "base/text/json_fields.h"
#include "base/text/raw_json.h"
#include "history/telemetry/epoch_packet.h"
#include "history/telemetry/thin_line.h"
#include "leyline/telemetry/telemetry.h"
#include "runs/moment.h"

namespace esper::runs {
namespace {

using base::text_at;
using nlohmann::json;
using namespace leyline::literals;

constexpr std::uint64_t kStartBytes = 4 << 10;
// Of the end, as far as is needed. Packets have some 10 kB; the largest that is read is the last of these.
constexpr std::array<std::size_t, 3> kEndBytes{16 << 10, 256 << 10, 4 << 20};
constexpr std::size_t kHeadBytes = 1024;  // of a packet, in which its time stands
constexpr std::string_view kBestEpoch = "tolaria.validation.best_epoch"_metric.name();

// Empty where there is none, or not in the form that packets have.
std::string timestamp_of(std::string_view line) {
  constexpr std::string_view kName = "\"timestamp\":\"";
  const std::string_view head = line.substr(0, kHeadBytes);
  const std::size_t at = head.find(kName);
  if (at == std::string_view::npos) return {};
  const std::string_view value = head.substr(at + kName.size());
  std::string text(value.substr(0, value.find('"')));
  return milliseconds_of(text) ? text : std::string();
}

json parse_line(std::string_view line) { return json::parse(line, nullptr, false); }

// The line's first member of that name: within texts quotes are escaped, so nothing else looks like one. Empty where it
// is no text.
std::string version_in(std::string_view line) {
  constexpr std::string_view kName = "\"version\":";
  const std::size_t at = line.find(kName);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + kName.size(), end = base::behind_json_value(line, begin);
  if (end == std::string_view::npos) return {};
  const json version = parse_line(line.substr(begin, end - begin));
  return version.is_string() ? version.get<std::string>() : "";
}

// Whole lines from the end on.
class LinesBackwards {
 public:
  // text: the end of a file; `is_whole` where it is all of it.
  LinesBackwards(std::string_view text, bool is_whole) : is_whole_(is_whole) {
    const std::size_t end = text.rfind('\n');
    rest_ = end == std::string_view::npos ? "" : text.substr(0, end + 1);
  }
  // Empty: none is left.
  std::string_view next() {
    while (!rest_.empty()) {
      const std::string_view text = rest_.substr(0, rest_.size() - 1);
      const std::size_t before = text.rfind('\n');
      if (before == std::string_view::npos && !is_whole_) return {};  // its beginning is not here
      rest_ = before == std::string_view::npos ? "" : rest_.substr(0, before + 1);
      const std::string_view line = before == std::string_view::npos ? text : text.substr(before + 1);
      if (!line.empty()) return line;
    }
    return {};
  }

 private:
  std::string_view rest_;
  bool is_whole_;
};

std::optional<RecordedEnd> end_in(std::string_view line) {
  const std::string_view name = "tolaria.run_finished"_event.name();
  if (line.find(name) == std::string_view::npos) return std::nullopt;
  const json packet = parse_line(line);
  const json& events = base::member(packet, "events");
  if (!events.is_array()) return std::nullopt;
  for (const json& event : events) {
    if (text_at(event, "description") != name) continue;
    const json& attributes = base::member(event, "attributes");
    return RecordedEnd{base::parse_number<int>(text_at(attributes, "exit_code")), text_at(attributes, "reason")};
  }
  return std::nullopt;
}

bool has_epoch(std::string_view line) {
  return line.find("tolaria.epochs.total"_metric.name()) != std::string_view::npos;
}

struct ReportedEpoch {
  Validation validation;
  std::optional<std::int64_t> best_epoch;
};

std::optional<ReportedEpoch> epoch_in(std::string_view line) {
  if (!has_epoch(line)) return std::nullopt;
  const std::string whole(line);
  std::string thin;
  const auto is_wanted = [](std::string_view metric) {
    return metric == kBestEpoch || !history::validation_figure(metric).empty();
  };
  const json packet = parse_line(history::thin_line(whole, is_wanted, thin) ? thin : whole);
  ReportedEpoch found{{history::epoch_of(packet), {}}, {}};
  if (!found.validation.epoch) return std::nullopt;
  const json& metrics = base::member(packet, "metrics");
  if (!metrics.is_array()) return std::nullopt;
  for (const json& metric : metrics) {
    const std::string name = text_at(metric, "name");
    const auto value = base::number_at(metric, "value");
    const auto figure = history::validation_figure(name);
    if (!figure.empty() && value) found.validation.figures[std::string(figure)] = *value;
    if (name == kBestEpoch) found.best_epoch = base::number_at<std::int64_t>(metric, "value");
  }
  return found;
}

// What sinks lost is reported by a packet of its own, which may follow the run's last one.
bool is_of_sinks(std::string_view line) { return line.find(R"("source_subsystem":"nissa")") != std::string_view::npos; }

// Adds what one file's end shows. True where nothing more is needed.
bool take_lines(LinesBackwards lines, EndDetail detail, TelemetryEnd& found) {
  for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
    if (found.timestamp.empty()) {
      if (is_of_sinks(line)) continue;
      found.timestamp = timestamp_of(line);
      if (found.timestamp.empty()) continue;
      if (detail == EndDetail::kAll) found.end = end_in(line);
    }
    if (detail == EndDetail::kTimestamp) return true;
    const auto epoch = epoch_in(line);
    if (!epoch) continue;
    found.epoch = epoch->validation;
    found.best_epoch = epoch->best_epoch;
    return true;
  }
  return false;
}

bool read_end_of(const FolderReader::OpenFile& file, EndDetail detail, TelemetryEnd& found) {
  const std::uint64_t size = file.size;
  for (const std::size_t bytes : kEndBytes) {
    const std::uint64_t from = size > bytes ? size - bytes : 0;
    TelemetryEnd here = found;
    const std::string text = file.read(from, size - from);
    const bool is_all = take_lines({text, from == 0}, detail, here);
    if (is_all || from == 0 || bytes == kEndBytes.back()) {
      found = std::move(here);
      return is_all;
    }
  }
  return false;
}

}  // namespace

TelemetryStart read_telemetry_start(const OpenFiles& files, bool is_first) {
  if (files.empty()) return {};
  // The first packet is small; more than this is an epoch's, which has no version.
  const std::string text = files.front().read(0, kStartBytes);
  const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
  const bool is_started = line.find("tolaria.run_started"_event.name()) != std::string_view::npos;
  const bool begins =
      is_first || is_started || line.find("tolaria.resumed"_event.name()) != std::string_view::npos;  // of a fork
  return {begins ? timestamp_of(line) : "", is_started ? version_in(line) : ""};
}

TelemetryEnd read_telemetry_end(const OpenFiles& files, EndDetail detail) {
  TelemetryEnd found;
  // A file that was begun just now has no packet yet.
  for (std::size_t i = files.size(); i > 0 && i + 2 > files.size(); --i) {
    if (read_end_of(files[i - 1], detail, found)) break;
  }
  return found;
}

std::optional<Validation> read_telemetry_epoch(const OpenFiles& files, std::int64_t epoch) {
  for (std::size_t i = files.size(); i > 0 && i + 2 > files.size(); --i) {
    const auto& file = files[i - 1];
    const std::uint64_t from = file.size > kEndBytes.back() ? file.size - kEndBytes.back() : 0;
    const std::string text = file.read(from, file.size - from);
    LinesBackwards lines(text, from == 0);
    for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
      auto found = epoch_in(line);
      if (found && *found->validation.epoch == epoch) return std::move(found->validation);
      if (found && *found->validation.epoch < epoch) return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> read_reached_epoch(const OpenFiles& files) {
  for (std::size_t i = files.size(); i > 0 && i + 2 > files.size(); --i) {
    const auto& file = files[i - 1];
    const std::uint64_t from = file.size > kEndBytes[1] ? file.size - kEndBytes[1] : 0;
    const std::string text = file.read(from, file.size - from);
    LinesBackwards lines(text, from == 0);
    for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
      if (is_of_sinks(line)) continue;
      const json packet = parse_line(line);
      const auto epoch = history::epoch_of(packet);
      if (!epoch) continue;
      const bool has_ended = has_epoch(line) || text_at(packet, "source_subsystem") == "kasmina";
      return std::int64_t{*epoch} + (has_ended ? 1 : 0);
    }
  }
  return std::nullopt;
}

}  // namespace esper::runs
