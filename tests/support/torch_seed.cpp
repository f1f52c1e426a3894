// The same random numbers in every run of a test: libtorch seeds its CPU generator from the system's entropy.

#include <ATen/Context.h>

#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

namespace {

class TorchSeed : public Catch::EventListenerBase {
 public:
  using Catch::EventListenerBase::EventListenerBase;
  void testCasePartialStarting(const Catch::TestCaseInfo&, std::uint64_t) override { at::manual_seed(1); }
};

CATCH_REGISTER_LISTENER(TorchSeed)

}  // namespace
