#include "device/asynchronous_error.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

namespace esper::test::asynchronous_error_test {

using esper::device::is_asynchronous_error;

TEST_CASE("an error that CUDA reports late is told from one of the call itself") {
  for (const std::string text : {"CUDA error: an illegal memory access was encountered\nSearch for `cudaErrorIllegal",
                                 "CUDA error: device-side assert triggered", "CUDA error: unspecified launch failure",
                                 "CUDA driver error: uncorrectable ECC error encountered",
                                 "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle",
                                 "CUDA error: the MPS client has been terminated by the server",
                                 "the compiled program failed: CUDA error: misaligned address"}) {
    CAPTURE(text);
    CHECK(is_asynchronous_error(text));
  }
  for (const std::string text :
       {"CUDA error: invalid argument", "CUDA error: no kernel image is available for execution on the device",
        "CUDA error: too many resources requested for launch", "CUDA error: out of memory",
        "CUDA error: MPS client failed to connect to the MPS control daemon or the MPS server",
        "an index is out of range"}) {
    CAPTURE(text);
    CHECK_FALSE(is_asynchronous_error(text));
  }
}

}  // namespace esper::test::asynchronous_error_test
