#pragma once
// Errors of a card that say nothing about the call that reports them. Any thread.

#include <string_view>

namespace esper::device {

// Whether CUDA reports this error at a later call than that of its cause, and at each call from then on: a kernel that
// failed (cudaErrorIllegalAddress, cudaErrorAssert, cudaErrorLaunchFailure, ...), or the hardware (ECC, NVLink). Any
// work that this process queued before may be the cause. The message decides, since what a compiled program throws has
// no code.
bool is_asynchronous_error(std::string_view message);

}  // namespace esper::device
