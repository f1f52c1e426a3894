#pragma once
// Counts the operator calls of this thread, and those that read the device.

#include <ATen/record_function.h>

#include <cstring>
#include <memory>

namespace esper::test {

// Counts while it lives; the counts stay until the next one starts.
class CallCounter {
 public:
  CallCounter() {
    calls() = host_reads() = 0;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback([](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
          ++calls();
          if (reads_the_device(call.name())) ++host_reads();
          return nullptr;
        }).scopes({at::RecordScope::FUNCTION}));
  }
  ~CallCounter() { at::removeCallback(handle_); }
  CallCounter(const CallCounter&) = delete;
  CallCounter& operator=(const CallCounter&) = delete;

  static int& calls() {
    thread_local int count = 0;
    return count;
  }
  static int& host_reads() {
    thread_local int count = 0;
    return count;
  }

 private:
  static bool reads_the_device(const char* name) {
    return std::strcmp(name, "aten::item") == 0 || std::strcmp(name, "aten::_local_scalar_dense") == 0 ||
           std::strcmp(name, "aten::nonzero") == 0 || std::strcmp(name, "aten::is_nonzero") == 0 ||
           std::strcmp(name, "aten::equal") == 0;
  }

  at::RecordFunctionGuard enable_{true};
  at::CallbackHandle handle_;
};

}  // namespace esper::test
