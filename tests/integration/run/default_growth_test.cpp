// The thresholds of the policy as they come: a network that stands still grows, one that keeps learning is left alone.
#include <catch2/catch_test_macros.hpp>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::default_growth_test {

using namespace esper::test;

namespace {

// Two convolution blocks on the digits, and nothing said of growth.
constexpr char kTwoBlocks[] =
    "epochs: 20\ndevice: {kind: cpu, threads: 1}\ntelemetry: {console: none}\nstep: {lane: eager}\n"
    "checkpoint: {every: 0 epochs}\ndata: {kind: digits, shape: [1, 8, 8]}\nhost: {kind: cnn, blocks: 2}\n";

std::size_t seeds_of(const std::string& batch_size, const Words& more = {}) {
  const RunRoom room;
  const auto config = room.write("two_blocks.yaml", kTwoBlocks);
  const auto finished = train(config, room.run("run"), Words{"data.batch_size=" + batch_size} + more);
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  return events_of(room.run("run"), "seed_grafted").size();
}

}  // namespace

TEST_CASE("default settings grow a cnn of two blocks whose validation stands still but for noise") {
  // 180 steps an epoch: past 95 % by the fourth, up and down after that.
  CHECK(seeds_of("8") > 0);
}

TEST_CASE(
    "default settings leave a cnn of two blocks alone while each few epochs improve it, if its seeds train beside it") {
  // 23 steps an epoch: from 30 % to 97 % over the whole run.
  CHECK(seeds_of("64", {"growth.training=straight_through"}) == 0);
  CHECK(seeds_of("64") > 0);  // part of the network from the start, they need not wait for a plateau
}

}  // namespace esper::test::default_growth_test
