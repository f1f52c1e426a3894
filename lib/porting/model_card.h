#pragma once
// MODEL.md: what an exported network is, how it came about and how to use it. Training thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/preprocessing.h"
#include "kasmina/network/network_state.h"

namespace esper::porting {

// A module of the network, or one that was grown and is no part of it.
struct CardSeed {
  std::string id, blueprint, slot;
  std::string state;                                     // "fossil", "alpha 0.35", "not part of the network: alpha 0"
  std::int64_t parameters = 0;                           // of its own: a folded one has none
  std::optional<std::uint32_t> born_epoch, ended_epoch;  // germinated, became a fossil; empty: not known
};
// In the order of slots, without epochs. Reads the device.
std::vector<CardSeed> card_seeds(const kasmina::NetworkState& network);
// How many parameters the exported network has. Buffers, such as batch norm's statistics, are none.
std::int64_t card_parameters(const kasmina::NetworkState& network);

struct ModelCard {
  std::string run, host;  // the run's name; "cnn"
  std::string checkpoint;
  std::uint32_t epoch = 0;
  std::int64_t step = 0, parameters = 0;
  bool is_averaged = false;  // its parameters are averages over steps
  std::vector<CardSeed> seeds;
  std::map<std::string, double> figures;  // of the validation part, by metric: "accuracy"
  std::string data;                       // fingerprint
  std::string esper, torch;               // versions
  std::string format;                     // of this export: "onnx"
  std::optional<double> difference;       // from Esper's outputs, as a share of the largest; empty: nothing was run
  std::string checked_by;
};

std::string model_card(const ModelCard& card, const data::Preprocessing& preprocessing);

}  // namespace esper::porting
