#pragma once
// The growth records of a run's journal. The journal holds one JSON object a record; `what` says of
// which kind:
//   started, resumed, forked   with the whole topology; forked also parent, checkpoint, without
//   stage, gate, graft, cull, fold, command_rejected, ...   an event of a seed's lifecycle
//   checkpoint                 name, and the topology's hash when it was published
//   segment                    the first record of each later file of the journal: the whole topology, and `records`,
//                              the number of records before it. It repeats what those say
// Any thread.

#include <compare>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leyline/topology.h"

namespace esper::history {

// Where in a run: epochs completed, then optimizer steps. What an epoch's end brings is at that epoch, one higher than
// a checkpoint of the same step that was saved within the epoch.
struct RunPlace {
  std::uint32_t epoch = 0;
  std::int64_t step = 0;
  auto operator<=>(const RunPlace&) const = default;
};

// "epoch 3, step 72"
std::string place_text(RunPlace place);

// An event in a seed's lifecycle.
struct GrowthEvent {
  std::string seed_id{}, slot{}, blueprint{};
  leyline::Stage from = leyline::Stage::kUnknown, to = leyline::Stage::kUnknown;
  std::string reason{};                        // with measured values and thresholds
  std::string command_id{};                    // empty: it came with an epoch's end
  std::string decision{};                      // "FOSSILIZE: ...": the command and the policy's reason
  std::string code{};                          // gate: "G0" to "G5"; command_rejected: "slot_occupied", ...
  std::optional<bool> passed{};                // gate: the verdict; fold: whether it was done
  std::map<std::string, double> values{};      // measured, by name
  std::map<std::string, double> required{};    // thresholds, by name
  std::optional<double> took_ms{};             // graft, cull, fold: how long training stood still for the command
  std::optional<std::int64_t> memory_bytes{};  // graft: the seed's weights, gradients, optimizer state and buffers
  // graft, cull, fold: the change of the optimizer's state. Parameters that came and went by id, of those that stayed
  // the number.
  std::optional<std::int64_t> carried{};
  std::vector<std::string> created{}, dropped{};
  // fold: whose moments became those of the layer as it is now, and whose were reset.
  std::vector<std::string> transformed{}, reset{};
  // graft: whose moments were copied; `reset` are copies that were born zero, without a first moment.
  std::vector<std::string> copied{};
};

struct GrowthRecord {
  std::string what;
  RunPlace place;
  std::size_t number = 0;                     // its number in the journal it was read from, from 1
  std::string hash;                           // of the topology after it; empty if the record has none
  std::optional<leyline::Topology> snapshot;  // started, resumed, forked, segment
  std::optional<GrowthEvent> event;
  std::string checkpoint;            // its name; forked: the parent's
  std::string parent;                // forked: the parent's folder
  std::vector<std::string> without;  // forked: seeds that were left out
  std::size_t records_before = 0;    // segment
};

nlohmann::json growth_record_json(const GrowthRecord& record);

enum class GrowthRecordKind { kGrowth, kOther, kDamaged };
// Fills `record` where the text is one of these; kOther for a valid record about something else. Nothing in the text is
// trusted: what is missing or of another type makes it kDamaged.
GrowthRecordKind read_growth_record(std::string_view text, GrowthRecord& record);

// Where the text is a sound segment record. Cheap for all others.
std::optional<GrowthRecord> read_segment(std::string_view text);

}  // namespace esper::history
