#include "kasmina/tensor/ownership.h"

#include <catch2/catch_test_macros.hpp>

#include "base/error.h"

namespace esper::kasmina::ownership_test {
namespace {

TEST_CASE("a parameter has one owner from claim to release") {
  OwnershipRegistry owners;
  owners.claim({{"host.w", {}}}, kHostOwner);
  owners.claim({{"seed-0001.w", {}}, {"seed-0001.b", {}}}, "seed-0001");
  CHECK(owners.owner_of("seed-0001.b") == "seed-0001");
  CHECK_THROWS_AS(owners.claim({{"host.w", {}}}, "seed-0001"), base::Error);
  owners.transfer("seed-0001", kHostOwner);
  CHECK(owners.owner_of("seed-0001.w") == "host");
  owners.claim({{"seed-0002.w", {}}}, "seed-0002");
  owners.release("seed-0002");
  CHECK_THROWS_AS(owners.owner_of("seed-0002.w"), base::Error);
  CHECK(owners.size() == 3);
}

}  // namespace
}  // namespace esper::kasmina::ownership_test
