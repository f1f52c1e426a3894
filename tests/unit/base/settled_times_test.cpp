#include "base/ledger/settled_times.h"

#include <catch2/catch_test_macros.hpp>

#include "support/owner_times.h"

namespace esper::base::settled_times_test {
namespace {

using esper::test::sum_of;
using std::chrono::nanoseconds;

OwnerTicks ticks(std::uint64_t compute, std::uint64_t loader_wait, std::uint64_t policy) {
  OwnerTicks all{};
  all[index_of(Owner::kCompute)] = compute;
  all[index_of(Owner::kLoaderWait)] = loader_wait;
  all[index_of(Owner::kPolicy)] = policy;
  return all;
}

}  // namespace

TEST_CASE("an interval is spread in proportion to the ticks, and no nanosecond is lost") {
  SettledTimes settled(nanoseconds(50), nanoseconds(50));
  const OwnerTimes first = settled.settle(nanoseconds(150), ticks(1, 1, 1), Owner::kIdle);
  CHECK(first[index_of(Owner::kCompute)] == nanoseconds(33));
  CHECK(first[index_of(Owner::kLoaderWait)] == nanoseconds(33));
  CHECK(first[index_of(Owner::kPolicy)] == nanoseconds(34));
  // Ticks whose product with the interval has more than 64 bits.
  const std::uint64_t many = std::uint64_t{1} << 62;
  const OwnerTimes second = settled.settle(nanoseconds(1'150), ticks(many, 2 * many, 0), Owner::kIdle);
  CHECK(second[index_of(Owner::kCompute)] == nanoseconds(333));
  CHECK(second[index_of(Owner::kLoaderWait)] == nanoseconds(667));
  CHECK(settled.totals()[index_of(Owner::kCompute)] == nanoseconds(366));
  CHECK(settled.time_of(Owner::kCompute) == nanoseconds(366));
  CHECK(settled.wall() == nanoseconds(1'100));
  CHECK(sum_of(settled.totals()) == settled.wall());
}

TEST_CASE("an interval without ticks is the fallback's") {
  SettledTimes settled(nanoseconds(0), nanoseconds(0));
  const OwnerTimes times = settled.settle(nanoseconds(10), {}, Owner::kValidation);
  CHECK(times[index_of(Owner::kValidation)] == nanoseconds(10));
  CHECK(sum_of(times) == nanoseconds(10));
}

TEST_CASE("start-up before the first interval is in that interval, once") {
  SettledTimes settled(nanoseconds(20), nanoseconds(50));
  CHECK(settled.time_of(Owner::kStartUp) == nanoseconds(30));
  CHECK(settled.time_of(Owner::kIdle) == nanoseconds(0));
  CHECK(sum_of(settled.totals()) == nanoseconds(0));
  const OwnerTimes first = settled.settle(nanoseconds(60), {}, Owner::kStartUp);
  CHECK(first[index_of(Owner::kStartUp)] == nanoseconds(40));
  CHECK(sum_of(settled.settle(nanoseconds(61), {}, Owner::kIdle)) == nanoseconds(1));
  CHECK(settled.time_of(Owner::kStartUp) == nanoseconds(40));
  CHECK(sum_of(settled.totals()) == settled.wall());
}

TEST_CASE("an interval that would end before it begins is empty") {
  SettledTimes settled(nanoseconds(0), nanoseconds(100));
  settled.settle(nanoseconds(120), {}, Owner::kIdle);
  CHECK(sum_of(settled.settle(nanoseconds(90), ticks(5, 0, 0), Owner::kIdle)) == nanoseconds(0));
  CHECK(settled.until() == nanoseconds(120));
  CHECK(settled.since() == nanoseconds(0));
}

}  // namespace esper::base::settled_times_test
