#pragma once
// Bytes between rooms: views, and the place that a producer writes to. Any thread.

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

namespace esper::storage {

using Bytes = std::span<const std::byte>;

// Takes the next bytes of a file; throws IoError if they cannot be stored.
using ByteSink = std::function<void(Bytes)>;

// Produces one file, piece by piece, so that a large one is never held twice.
using WriteContents = std::function<void(const ByteSink&)>;

inline Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

inline std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace esper::storage
