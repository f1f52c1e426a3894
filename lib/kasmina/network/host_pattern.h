#pragma once
// Patterns of the host's parameters in a run file, like "layer1.*". Any thread.

#include <span>
#include <string>
#include <string_view>

#include "kasmina/tensor/tensor_table.h"

namespace esper::kasmina {

// By the parameter's id, "host.layer1.weight", or by that without "host."; no other id fits.
bool fits_host_parameter(std::string_view id, std::string_view pattern);

// Throws Error{kConfig} naming the field, and the nearest parameter, where the pattern fits none of the host's. text:
// the pattern as the run file has it.
void require_host_parameter(std::string_view pattern, std::span<const NamedTensor> host, const std::string& field,
                            std::string_view text);

}  // namespace esper::kasmina
