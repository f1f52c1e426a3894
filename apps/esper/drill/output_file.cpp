#include "esper/drill/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file_system.h"
#include "base/text/standard_output.h"
#include "base/text/text_outlet.h"
#include "storage/atomic_publish.h"
#include "storage/bytes.h"
#include "storage/real_file_system.h"

namespace esper {

void refuse_unwritable(const std::string& file) {
  const auto refuse = [&](const std::string& reason) {
    throw base::Error(base::ExitCode::kConfig, fmt::format("--output {}: {}; name another file", file, reason));
  };
  struct stat found{};
  if (::lstat(file.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) refuse("exists and is not a regular file");
  const std::string probe = fmt::format("{}.tmp-{}", file, ::getpid());
  const base::Descriptor made(::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made.is_open()) refuse("cannot be written: " + std::generic_category().message(errno));
  ::unlink(probe.c_str());
}

int write_and_print(const std::string& file, nlohmann::ordered_json document, Format format,
                    const std::function<void()>& print_text) {
  std::optional<base::IoError> failure;
  try {
    const std::string text = base::json_text(document);
    if (!file.empty()) storage::publish_file(storage::real_file_system(), file, storage::bytes_of(text));
  } catch (const base::IoError& error) {
    failure = error;
  }
  if (failure) base::print_failure(failure->what());
  if (format == Format::kJson) {
    if (failure) document["error"] = error_json(failure->code(), failure->what());
    print_json(document);
  } else {
    print_text();
  }
  return failure ? static_cast<int>(failure->code()) : 0;
}

}  // namespace esper
