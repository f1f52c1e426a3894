#include "device/out_of_memory.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <system_error>

#include "base/text/ascii.h"

namespace esper::device {

namespace {

// What PyTorch's allocators and the libraries below them say, in lower case. Only the text tells: they throw c10::Error
// and std::runtime_error, some with the words of std::bad_alloc. oneDNN names no cause, but a primitive whose
// descriptor could be made is only short of memory, for its code or its buffers. cuBLAS and cuDNN take memory beside
// torch's allocator when a handle is made, and then say that they are not initialized.
constexpr std::array<std::string_view, 13> kWords = {"allocate memory",
                                                     "not enough memory",
                                                     "defaultcpuallocator",
                                                     "alloc_cpu.cpp",
                                                     "out of memory",
                                                     "out_of_memory",
                                                     "alloc_failed",
                                                     "allocation_failed",
                                                     "cublas_status_not_initialized",
                                                     "cudnn_status_not_initialized",
                                                     "std::bad_alloc",
                                                     "std::bad_array_new_length",
                                                     "could not create a primitive"};

// What oneDNN says of operands that do not fit together.
constexpr std::string_view kNoDescriptor = "could not create a primitive descriptor";

bool speaks_of_memory(const std::string& text) {
  std::string small = base::lower_case(text);
  if (const auto at = small.find(kNoDescriptor); at != std::string::npos) small.erase(at, kNoDescriptor.size());
  return std::ranges::any_of(kWords, [&](std::string_view words) { return small.find(words) != std::string::npos; });
}

// A thread's stack that could not be mapped comes as EAGAIN.
bool is_shortage(const std::error_code& code) {
  return code == std::errc::not_enough_memory || code == std::errc::resource_unavailable_try_again;
}

}  // namespace

std::string out_of_memory_message(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out of memory";
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  const auto* of_system = dynamic_cast<const std::system_error*>(&error);
  const bool of_card = dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr;
  const std::string text = of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
  const bool lacks = of_system != nullptr ? is_shortage(of_system->code()) : of_card || speaks_of_memory(text);
  return lacks ? "out of memory: " + text.substr(0, text.find('\n')) : std::string();
}

}  // namespace esper::device
