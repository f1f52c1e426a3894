#pragma once
// Errors of a GPU that say nothing about the call that reports them. Any thread.

#include <exception>
#include <string_view>

namespace esper::device {

// Whether CUDA reports this error at a later call than that of its cause, and at each call from then on: a kernel that
// failed (cudaErrorIllegalAddress, cudaErrorAssert, cudaErrorLaunchFailure, ...), or the hardware (ECC, NVLink). Any
// work that this process queued before may be the cause. The message decides, since what a compiled program throws has
// no code.
bool is_asynchronous_error(std::string_view message);

// What the end of a scope writes back to tensors, in a destructor, which may be on the way of an error. An asynchronous
// error of it is passed over: the GPU is lost, and the next call reports it again.
template <class Work>
void put_back(const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    if (!is_asynchronous_error(error.what())) throw;
  }
}

}  // namespace esper::device
