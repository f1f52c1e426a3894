#include "device/asynchronous_error.h"

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <stdexcept>
#include <string>

namespace esper::test::asynchronous_error_test {

using esper::device::is_asynchronous_error;

TEST_CASE("an error that CUDA reports late is told from one of the call itself") {
  for (const std::string text : {"CUDA error: an illegal memory access was encountered\nSearch for `cudaErrorIllegal",
                                 "CUDA error: device-side assert triggered", "CUDA error: unspecified launch failure",
                                 "CUDA driver error: uncorrectable ECC error encountered", "CUDA error: unknown error",
                                 "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle",
                                 "CUDA error: the MPS client has been terminated by the server",
                                 "the compiled program failed: CUDA error: misaligned address"}) {
    CAPTURE(text);
    CHECK(is_asynchronous_error(text));
  }
  for (const std::string text :
       {"CUDA error: invalid argument", "CUDA error: no kernel image is available for execution on the device",
        "CUDA error: too many resources requested for launch", "CUDA error: out of memory",
        "CUDA unknown error - this may be due to an incorrectly set up environment",
        "CUDA error: MPS client failed to connect to the MPS control daemon or the MPS server",
        "an index is out of range"}) {
    CAPTURE(text);
    CHECK_FALSE(is_asynchronous_error(text));
  }
}

namespace {

class Scope {
 public:
  explicit Scope(const char* at_end) : at_end_(at_end) {}
  ~Scope() noexcept(false) {
    esper::device::put_back([&] {
      if (at_end_ != nullptr) throw std::runtime_error(at_end_);
    });
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  const char* at_end_;
};

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an error on a lost card reaches its caller by the scopes that cannot put back what they changed") {
  constexpr const char* kLost = "CUDA error: an illegal memory access was encountered";
  CHECK(error_of([&] {
          const Scope outer(kLost), inner(kLost);
          throw std::runtime_error("the step failed");
        }) == "the step failed");
  CHECK(error_of([] { const Scope good(nullptr); }).empty());
  CHECK(error_of([] { const Scope bad("out of memory"); }) == "out of memory");
}

}  // namespace esper::test::asynchronous_error_test
