#pragma once
// A folder name for a machine's baselines.

#include <string>
#include <string_view>

namespace esper::base {

// The processor's name in small letters, digits and dashes, then 8 hexadecimal digits of a hash of everything that must
// be the same for two measurements to be compared: "intel-xeon-platinum-8488c-1f00c3a7".
std::string machine_name(std::string_view cpu_model, std::string_view fingerprint);

}  // namespace esper::base
