#include "nissa/console_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/printable.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::nissa {
namespace {

using namespace leyline::literals;
using base::printable_line;
using leyline::TelemetryPacket;

std::string coloured(const std::string& text, const char* code, Colour colour) {
  return colour == Colour::kOn ? std::string("\x1b[") + code + "m" + text + "\x1b[0m" : text;
}

std::string loss_and_accuracy(const char* title, std::optional<double> loss, std::optional<double> accuracy) {
  if (!loss) return "";
  auto out = fmt::format("  {} loss {:.4f}", title, *loss);
  if (accuracy) out += fmt::format(" accuracy {:.2f}%", 100 * *accuracy);
  return out;
}

bool is_turning_point(std::string_view name) {
  constexpr std::array kNames{"seed_stage"_event.name(),
                              "seed_grafted"_event.name(),
                              "seed_removed"_event.name(),
                              "tolaria.run_started"_event.name(),
                              "tolaria.run_finished"_event.name(),
                              "tolaria.resumed"_event.name(),
                              "tolaria.batch_source_chosen"_event.name(),
                              "tolaria.interrupted"_event.name(),
                              "tolaria.early_stop"_event.name(),
                              "tolaria.lane_adopted"_event.name(),
                              "tolaria.save_resumed"_event.name(),
                              "tolaria.compile_waiting"_event.name(),
                              "tolaria.setting_changed"_event.name()};
  return std::ranges::count(kNames, name) > 0;
}

// "seed-0001 r0c0 conv_heavy: GERMINATED -> TRAINING": what an event is about, first of all. Takes its attributes away.
std::string subject_of(leyline::Attributes& attributes) {
  const auto take = [&](const char* name) {
    const auto node = attributes.extract(name);
    return node.empty() ? std::string() : printable_line(node.mapped());
  };
  std::string out;
  for (const char* name : {"gate", "seed_id", "slot", "blueprint"}) {
    if (const auto text = take(name); !text.empty()) out += " " + text;
  }
  if (!attributes.contains("to")) return out;
  const auto from = take("from"), to = take("to");
  return out + ": " + from + " -> " + to;
}

// In the telemetry table's order, a reason last; empty ones are left out.
std::string other_attributes(std::string_view event, const leyline::Attributes& attributes) {
  const auto row = leyline::find_event(event);
  const auto labels = row < leyline::kTelemetryTable.size() ? leyline::kTelemetryTable[row].labels : std::string_view();
  std::vector<std::pair<std::size_t, std::string>> parts;
  for (const auto& [name, value] : attributes) {
    if (value.empty()) continue;
    const auto place = name == "reason" ? std::string_view::npos : labels.find(name);
    parts.emplace_back(place, "  " + printable_line(name) + " " + printable_line(value));
  }
  std::ranges::stable_sort(parts, {}, &std::pair<std::size_t, std::string>::first);
  std::string out;
  for (const auto& [place, text] : parts) out += text;
  return out;
}

std::string time_left(double seconds) {
  const auto total = static_cast<long>(std::min(seconds, 359'999.0));
  if (total < 3600) return fmt::format("{}:{:02}", total / 60, total % 60);
  return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

std::string phase_text(const BarView& view) {
  switch (view.phase) {
    case leyline::Phase::kStarting:
      return "starting";
    case leyline::Phase::kTraining:
      break;
    case leyline::Phase::kValidating:
      return "validating";
    case leyline::Phase::kSaving:
      return "saving";
    case leyline::Phase::kDone:
      return "done";
  }
  return view.steps == 0 ? "training" : fmt::format("step {}/{}", view.step, view.steps);
}

double step_fraction(const BarView& view) {
  return view.steps == 0 ? 0 : std::min(1.0, static_cast<double>(view.step) / static_cast<double>(view.steps));
}

std::string bar(double fraction, int width, Colour colour) {
  const int full = static_cast<int>(fraction * width);
  std::string out = "[";
  out += coloured(std::string(full, '='), "32", colour);
  return out.append(width - full, ' ') + "]";
}

}  // namespace

std::optional<std::string> epoch_line(const TelemetryPacket& packet, std::uint32_t epochs) {
  const auto train = loss_and_accuracy("train", value_of(packet, "tolaria.training.loss"_metric),
                                       value_of(packet, "tolaria.training.accuracy"_metric));
  if (train.empty()) return std::nullopt;
  const auto epoch = packet.system_health.indicators.find("epoch");
  std::string out = "epoch ";
  out += epoch == packet.system_health.indicators.end() ? "?" : printable_line(epoch->second);
  if (epochs > 0) out += fmt::format("/{}", epochs);
  out += train + loss_and_accuracy("valid", value_of(packet, "tolaria.validation.loss"_metric),
                                   value_of(packet, "tolaria.validation.accuracy"_metric));
  if (const auto score = value_of(packet, "tolaria.validation.score"_metric))
    out += fmt::format(" score {:.4f}", *score);
  if (const auto seeds = value_of(packet, "tolaria.seeds.active"_metric)) out += fmt::format("  seeds {:.0f}", *seeds);
  if (const auto rate = value_of(packet, "tolaria.lr_controller.current_lr"_metric)) {
    out += fmt::format("  lr {:.3g}", *rate);
  }
  // A run that was resumed at the very end of an epoch trained nothing of it in this process.
  if (const auto speed = value_of(packet, "tolaria.training.samples_per_s"_metric); speed && *speed > 0) {
    out += fmt::format("  {:.0f} samples/s", *speed);
  }
  if (const auto time = value_of(packet, "tolaria.training.latency_ms"_metric)) {
    out += fmt::format("  {:.2f} s", *time / 1000);
  }
  return out;
}

std::optional<std::string> event_line(const leyline::TelemetryEvent& event, Colour colour) {
  using leyline::Level;
  if (event.level < Level::kWarning && !is_turning_point(event.description)) return std::nullopt;
  std::string out;
  if (event.level == Level::kWarning) out = coloured("warning", "33", colour) + " ";
  if (event.level == Level::kError) out = coloured("error", "31", colour) + " ";
  if (event.level == Level::kCritical) out = coloured("critical", "31", colour) + " ";
  out += printable_line(event.description);
  auto attributes = event.attributes;
  out += subject_of(attributes);
  return out + other_attributes(event.description, attributes);
}

double done_fraction(const BarView& view) {
  if (view.phase == leyline::Phase::kDone) return 1;
  if (view.epochs == 0 || view.epoch == 0) return 0;
  return std::min(1.0, (view.epoch - 1 + step_fraction(view)) / view.epochs);
}

std::string bar_line(const BarView& view, int columns, Colour colour) {
  const auto room = static_cast<std::size_t>(std::max(columns - 1, 0));
  std::string head = view.epochs == 0 ? "" : fmt::format("epoch {}/{} ", view.epoch, view.epochs);
  std::vector<std::string> parts{phase_text(view)};  // most important first
  if (view.seconds_left) parts.push_back("eta " + time_left(*view.seconds_left));
  if (view.loss) parts.push_back(fmt::format("loss {:.4f}", *view.loss));
  if (view.accuracy) parts.push_back(fmt::format("accuracy {:.2f}%", 100 * *view.accuracy));

  std::string tail;
  for (const auto& part : parts) {
    if (head.size() + tail.size() + 2 + part.size() > room) break;
    tail += (tail.empty() ? "" : "  ") + part;
  }
  constexpr std::size_t kNarrowest = 10, kWidest = 30;
  const auto used = head.size() + tail.size() + 3;  // brackets and a blank
  if (used + kNarrowest > room) return (head + tail).substr(0, room);
  const int width = static_cast<int>(std::min(room - used, kWidest));
  const double shown = view.steps == 0 ? done_fraction(view) : step_fraction(view);
  return head + bar(shown, width, colour) + " " + tail;
}

}  // namespace esper::nissa
