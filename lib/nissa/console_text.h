#pragma once
// What the console shows, as pure functions from values to text.

#include <cstdint>
#include <optional>
#include <string>

#include "leyline/progress.h"
#include "leyline/telemetry/telemetry_packet.h"

namespace esper::nissa {

enum class Colour { kOff, kOn };

// One line about an epoch, without a newline; nothing if the packet is not about an epoch (tolaria.training.loss is
// missing). epochs: of the whole run, 0 if not known.
//   epoch 3/10  train loss 0.4312 accuracy 87.10%  valid loss 0.3911 accuracy 90.05%  seeds 2  lr 0.01  ...
std::optional<std::string> epoch_line(const leyline::TelemetryPacket& packet, std::uint32_t epochs);

// One line about an event that a person wants to see as it happens: WARNING and above, and the turning points of a run
// or of a seed. What it is about comes first, a reason last, empty attributes not at all. Escaped
// (base/text/printable.h), so that no text can steer the terminal.
//   seed_stage seed-0001 r0c0 conv_heavy: GERMINATED -> TRAINING  epoch 16  reason gate G1 passed
std::optional<std::string> event_line(const leyline::TelemetryEvent& event, Colour colour);

// What the bar shows.
struct BarView {
  std::uint32_t epoch = 0, epochs = 0;
  std::uint64_t step = 0, steps = 0;  // steps 0: not known; the bar then shows the epochs
  leyline::Phase phase = leyline::Phase::kStarting;
  std::optional<double> loss, accuracy;  // of the last finished epoch
  std::optional<double> seconds_left;
};

// The share of the run that is done, 0 to 1.
double done_fraction(const BarView& view);
// One line of at most columns - 1 characters (the last column stays free, else terminals wrap). What matters least is
// left out first where the terminal is narrow.
std::string bar_line(const BarView& view, int columns, Colour colour);

}  // namespace esper::nissa
