#include "base/out_of_memory_exit.h"

#include <cxxabi.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <typeinfo>

#include "base/error.h"

namespace esper::base {
namespace {

std::terminate_handler terminate_before = nullptr;
std::string_view message;

[[noreturn]] void end() {
  const std::type_info* const thrown = abi::__cxa_current_exception_type();
  if (thrown != nullptr && *thrown == typeid(std::bad_alloc)) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
    ::_exit(static_cast<int>(ExitCode::kResources));
  }
  if (terminate_before != nullptr) terminate_before();
  std::abort();
}

}  // namespace

void install_out_of_memory_exit(std::string_view text) {
  message = text;
  terminate_before = std::set_terminate(end);
}

}  // namespace esper::base
