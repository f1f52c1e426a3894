#pragma once
// Amounts of memory as users write them. Any thread.

#include <cstdint>
#include <string>

namespace esper {

// "4GiB", "500MiB"; throws Error{kConfig}, which names the option, for other texts.
std::int64_t bytes_in(const std::string& option, const std::string& text);

}  // namespace esper
