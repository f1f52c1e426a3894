#pragma once
// Message authentication codes (HMAC-SHA256): only who has the key can make one. For what comes from outside and is
// trusted like this process's own: compiled programs in the cache, commands of a policy in another process. Any thread.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "storage/bytes.h"

namespace esper::crypto {

using MacKey = std::array<std::byte, 32>;

// 64 lower-case hexadecimal digits: of the two parts, one after the other.
std::string mac_of(const MacKey& key, storage::Bytes first, storage::Bytes second);

// Takes the same time whatever differs.
bool is_same_mac(std::string_view a, std::string_view b);

std::string hex_of(const MacKey& key);

// From the system's random numbers. Throws std::system_error where it has none.
MacKey new_key();

}  // namespace esper::crypto
