#include "device/select.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/gpu_present.h"
#include "device/cuda_table.h"
#include "device/staging.h"

namespace esper::device::select_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

std::string loaded_libraries() {
  std::ostringstream text;
  text << std::ifstream("/proc/self/maps").rdbuf();
  return text.str();
}

base::Error refusal_of(std::string_view kind) {
  try {
    select_device(kind);
  } catch (const base::Error& error) {
    return error;
  }
  throw std::logic_error("select_device accepted " + std::string(kind));
}

TEST_CASE("cpu is the CPU and loads no CUDA library") {
  const auto selection = select_device("cpu");
  CHECK(selection.device.is_cpu());
  CHECK(selection.note.empty());
  CHECK_THAT(loaded_libraries(), ContainsSubstring("libtorch_cpu"));
  CHECK_THAT(loaded_libraries(), !ContainsSubstring("libtorch_cuda") && !ContainsSubstring("libesper_cuda"));
}

TEST_CASE("a word that is no device is a configuration error that lists the choices") {
  for (const auto* kind : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:999", "CUDA", "cuda0"}) {
    CAPTURE(kind);
    const auto error = refusal_of(kind);
    CHECK(error.code() == base::ExitCode::kConfig);
    CHECK_THAT(error.what(), ContainsSubstring("auto, cpu, cuda, cuda:N"));
  }
}

TEST_CASE("without a GPU auto takes the CPU, CUDA is refused with the way out, and nothing of CUDA is loaded") {
  if (base::gpu_present()) SKIP("this machine has a GPU");
  const auto selection = select_device("auto");
  CHECK(selection.device.is_cpu());
  CHECK(selection.note.empty());
  for (const auto* kind : {"cuda", "cuda:0", "cuda:3"}) {
    const auto error = refusal_of(kind);
    CHECK(error.code() == base::ExitCode::kResources);
    // Commands that do not train say it, too.
    CHECK_THAT(error.what(), ContainsSubstring("no NVIDIA GPU") && EndsWith("; or set device.kind: cpu"));
  }
  CHECK_FALSE(cuda_loaded());
  CHECK_THAT(loaded_libraries(), !ContainsSubstring("libtorch_cuda") && !ContainsSubstring("libesper_cuda"));
}

TEST_CASE("the table without CUDA counts no device and refuses the rest") {
  const auto& table = unavailable_cuda_table();
  CHECK(table.device_count() == 0);
  CHECK_THROWS_AS(table.facts(0), base::Error);
  CHECK_THROWS_AS(table.memory(0), base::Error);
  CHECK_THROWS_AS(table.synchronize(0), base::Error);
  CHECK_THROWS_AS(table.side_stream(0), base::Error);
  CHECK_THROWS_AS(table.set_device(0), base::Error);
  CHECK_THROWS_AS(table.graph_pool(), base::Error);
  CHECK_THROWS_AS(table.graph_pool_free(0, {}), base::Error);
  CHECK_THROWS_AS(table.graph_create(0, {}), base::Error);
  CHECK_THROWS_AS(table.graph_replay(nullptr), base::Error);
  CHECK_THROWS_AS(table.set_host_waits(HostWaits::kRefused), base::Error);
  CHECK_THROWS_AS(table.range_push(""), base::Error);
}

TEST_CASE("staging on the CPU hands the same memory through") {
  for (const auto stream : {Staging::Stream::kSide, Staging::Stream::kCurrent}) {
    Staging staging(c10::Device(c10::DeviceType::CPU), stream);
    const std::vector<at::Tensor> host{torch::ones({3}), torch::ones({2})};
    const auto out = staging.take(staging.start(host));
    REQUIRE(out.size() == 2);
    CHECK(out[0].data_ptr() == host[0].data_ptr());
    CHECK(out[1].data_ptr() == host[1].data_ptr());
    CHECK(staging.take_times().copy_ms == 0);
  }
}

}  // namespace
}  // namespace esper::device::select_test
