#pragma once
// What a folder that `esper import` wrote says of its network, without its numbers: host.json. Any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "leyline/blueprint/feature_shape.h"

namespace esper::config {

inline constexpr char kExportedHostFile[] = "host.json";

// A place in the network where a module can grow: what leaves one of the model's modules.
struct ExportedSite {
  // Where it is in one of the two programs: the value, and the operation that makes it.
  struct Cut {
    std::int32_t value = 0;
    std::size_t operation = 0;
  };
  std::string path;               // "layer3.0"
  std::vector<std::string> also;  // other modules that end here
  leyline::FeatureShape shape;
  bool is_block = false;  // one of those that `auto` stands for
  std::string taken_by;   // as SlotSite::taken_by
  Cut training, evaluation;
};

struct ExportedHost {
  std::string source;                           // "model.py:ResNet"
  std::vector<std::int64_t> input;              // sizes of one sample
  std::string example;                          // what the model takes of it: "1x8x8,3:int64"; empty: not known
  bool takes_tokens = false;                    // whole numbers
  std::vector<std::int64_t> output;             // sizes of one sample's output
  std::vector<std::string> parameters, frozen;  // "host.fc.weight": what learns, and what the model never let learn
  std::vector<ExportedSite> sites;              // in the order in which the network runs through them
};

// Fails with the reason, a sentence with the way out.
base::Expected<ExportedHost> read_exported_host(const std::string& folder);

// The sites that growth.slots names: by the path of a module or a pattern of paths, with ".out" behind it or not ("*"
// is any text without a dot, so "layer3.*" are the modules right below layer3; "**" any text); `auto`, or nothing at
// all, is the end of each block.
std::vector<ExportedSite> named_sites(const ExportedHost& host, const std::vector<std::string>& slots);
// What one of these texts names.
bool names_site(const ExportedSite& site, const std::string& text);

}  // namespace esper::config
