#pragma once
// Telling out of memory, on the host or on a GPU, from all other failures. Any thread.

#include <exception>
#include <string>

namespace esper::device {

// As text, in one line; empty if the error is another one. Known are std::bad_alloc, PyTorch's error of a GPU's
// allocator, system errors (ENOMEM, and EAGAIN of a thread that could not be started), and what only the text tells, of
// whatever type: PyTorch's host allocator ("DefaultCPUAllocator: not enough memory") and the libraries below it.
std::string out_of_memory_message(const std::exception& error);

}  // namespace esper::device
