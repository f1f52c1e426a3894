#pragma once
// From the word in the run file to a torch device.

#include <c10/core/Device.h>

#include <string>
#include <string_view>

namespace esper::device {

struct Selection {
  c10::Device device;
  std::string note;  // for the user; empty but where `auto` took the CPU although the machine has a GPU: says why
};

// kind: auto | cpu | cuda | cuda:N. `cuda` is `cuda:0`. Loads the CUDA module only where it is requested and a GPU is
// there, so call it before anything is seeded; the GPU becomes the calling thread's current one. Once per process;
// training thread. Throws base::Error: kConfig for
// another word, kResources for CUDA without a usable GPU or for a GPU that is not there.
Selection select_device(std::string_view kind);

}  // namespace esper::device
