#pragma once
// A blueprint as run files, commands, journals and topologies name it: "conv_heavy", or "copy_block*3" for one seed
// that holds three copies in sequence. Any thread.

#include <string>
#include <string_view>

#include "base/expected.h"

namespace esper::leyline {

struct BlueprintName {
  static constexpr int kMostCopies = 64;
  std::string plain;  // as in the catalogue, or not
  int copies = 1;     // 1..kMostCopies

  // Whether the catalogue has such a blueprint is not looked at.
  static base::Expected<BlueprintName> parse(std::string_view text);
  // Without "*1".
  std::string text() const;
};

// "copy_block" of "copy_block*3".
std::string_view without_copies(std::string_view blueprint);

}  // namespace esper::leyline
