#pragma once
// Times of day between text and milliseconds since the UNIX epoch. Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace esper::runs {

// Of base::rfc3339()'s form, "2026-03-01T12:00:00.000000Z", with or without a fraction; nothing for any other.
std::optional<std::int64_t> milliseconds_of(std::string_view rfc3339);

// "2026-03-01 12:00:00", UTC.
std::string moment_text(std::int64_t ms);

// How long ago something is at most, as users write it: "7d", "2w", and as base::parse_duration() ("36h");
// milliseconds. Nothing for any other text, and for ages that a clock cannot show.
std::optional<std::int64_t> parse_age(std::string_view text);

}  // namespace esper::runs
