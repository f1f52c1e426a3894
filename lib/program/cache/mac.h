#pragma once
// Message authentication codes (HMAC-SHA256) for what is kept in the cache of compiled programs and becomes code of
// this process: only who has the user's key can make one. Any thread.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "storage/bytes.h"

namespace esper::program {

using MacKey = std::array<std::byte, 32>;

// 64 lower-case hexadecimal digits: of the two parts, one after the other.
std::string mac_of(const MacKey& key, storage::Bytes first, storage::Bytes second);

// Takes the same time whatever differs.
bool is_same_mac(std::string_view a, std::string_view b);

std::string hex_of(const MacKey& key);

}  // namespace esper::program
