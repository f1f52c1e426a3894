#include "esper/queue/byte_size.h"

#include "base/error.h"
#include "base/text/byte_size.h"

namespace esper {

std::int64_t bytes_in(const std::string& option, const std::string& text) {
  const auto bytes = base::parse_byte_size(text);
  if (bytes) return *bytes;
  throw base::Error(base::ExitCode::kConfig, option + (text.empty() ? ": is empty; it" : ":") +
                                                 " needs a whole number and a unit, like 4GiB or 500MiB");
}

}  // namespace esper
