// The same random numbers in every run of a test: libtorch seeds its CPU generator from the system's entropy. Nothing
// but that generator is asked for: at::manual_seed looks for CUDA, and a test of how CUDA is loaded must come first.

#include <ATen/CPUGeneratorImpl.h>

#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <mutex>

namespace {

class TorchSeed : public Catch::EventListenerBase {
 public:
  using Catch::EventListenerBase::EventListenerBase;
  void testCasePartialStarting(const Catch::TestCaseInfo&, std::uint64_t) override {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::scoped_lock lock(generator.mutex());
    generator.set_current_seed(1);
  }
};

CATCH_REGISTER_LISTENER(TorchSeed)

}  // namespace
