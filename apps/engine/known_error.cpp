#include "engine/known_error.h"

#include <c10/util/Exception.h>
#include <fmt/core.h>

#include "device/asynchronous_error.h"
#include "device/out_of_memory.h"
#include "device/settings.h"

namespace esper::engine {

using base::Error;
using base::ExitCode;

std::optional<Error> known_error(const std::exception& error) {
  if (const auto* known = dynamic_cast<const Error*>(&error)) return *known;
  if (const std::string lack = device::out_of_memory_message(error); !lack.empty()) {
    return Error(ExitCode::kResources, lack + "; use a smaller host or data.batch_size");
  }
  if (const std::string name = device::nondeterministic_operator(error); !name.empty()) {
    return Error(ExitCode::kConfig,
                 fmt::format("device.deterministic: {} has no deterministic implementation on this device; with "
                             "--set device.deterministic=false it runs, and repeated runs differ in their last bits",
                             name));
  }
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string text = of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
  if (device::is_asynchronous_error(text)) {
    return Error(ExitCode::kBug,
                 fmt::format("the GPU failed: {}\nCUDA reports such an error late: any earlier work may be its cause, "
                             "or the hardware (dmesg has the driver's messages, NVRM: Xid). To continue a run from "
                             "its newest checkpoint: esper train --resume RUN",
                             text.substr(0, text.find('\n'))));
  }
  return of_torch != nullptr ? std::optional(Error(ExitCode::kBug, text)) : std::nullopt;
}

ExitCode exit_code_of(const std::exception& error) {
  const auto known = known_error(error);
  return known ? known->code() : ExitCode::kBug;
}

}  // namespace esper::engine
