// A machine without room for a second network.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "device/facts.h"
#include "unit/tolaria/growing_ahead.h"

using namespace esper;
using namespace esper::tests;
using leyline::Lane;

namespace {

constexpr std::uint64_t kMegabyte = 1 << 20, kPiece = 64 * kMegabyte;

// This process then seems to have taken so much: it sees the same piece of memory many times.
bool seem_to_take(std::uint64_t bytes) {
  const int piece = ::memfd_create("piece", MFD_CLOEXEC);
  if (piece < 0 || ::ftruncate(piece, kPiece) != 0) return false;
  for (std::uint64_t taken = 0; taken < bytes; taken += kPiece) {
    void* const seen = ::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, piece, 0);
    if (seen == MAP_FAILED) return false;
  }
  return true;
}

// Of the process that has no room.
enum Ending { kRight = 0, kWrong = 1, kCannotSeem = 2 };

Ending grow_without_room(std::uint64_t bytes, const std::map<std::string, torch::Tensor>& expected) {
  if (!seem_to_take(bytes)) return kCannotSeem;
  GrowingAhead ahead(Lane::kReplay);
  ahead.steps(6);
  ahead.prepare({germinates("r0c1", "mlp")});
  ahead.prepare({germinates("r0c0", "mlp")});
  ahead.change(ahead.germination("r0c1", "mlp"));
  ahead.steps(4);
  const auto told = std::ranges::find(ahead.events, "tolaria.growth_unprepared", &leyline::TelemetryEvent::description);
  const bool right = told != ahead.events.end() && ahead.told("tolaria.growth_unprepared") == 1 &&
                     told->attributes.at("reason").find("may not fit into memory") != std::string::npos &&
                     ahead.told("tolaria.growth_prepared") == 0 &&
                     first_difference(expected, copies_of(*ahead.model)).empty();
  return right ? kRight : kWrong;
}

}  // namespace

TEST_CASE(
    "where a second network may not fit beside the run, none is made: that is told once, and the run has its bits") {
  at::set_num_threads(1);
  const std::uint64_t free = device::memory_figures(torch::kCPU).free_bytes;
  if (free > 32768 * kMegabyte) SKIP("so much memory takes too long to be seen");
  GrowingModel eager;
  eager.steps(6);
  eager.apply(eager.germination("r0c1", "mlp"));
  eager.steps(4);
  const auto expected = copies_of(*eager.model);
  const pid_t child = ::fork();  // what a process once took stays on its record
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(grow_without_room(free + free / 4, expected));
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotSeem) SKIP("memory cannot be mapped that often here");
  CHECK(WEXITSTATUS(status) == kRight);
}
