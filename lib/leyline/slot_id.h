#pragma once
// The ids of slots: "r<row>c<column>". Hosts have one row, the column counts along the network. Any thread.

#include <cstddef>
#include <string>
#include <string_view>

namespace esper::leyline {

// "r0c1"
std::string slot_id_of(std::size_t column);

// Whether a text has that form; whether a host has such a slot is ignored.
bool is_slot_id(std::string_view text);

}  // namespace esper::leyline
