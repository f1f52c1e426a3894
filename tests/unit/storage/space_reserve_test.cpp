#include "storage/space_reserve.h"

#include <catch2/catch_test_macros.hpp>

#include "storage/file_tools.h"
#include "support/faults/faulty_file_system.h"

namespace esper::test::space_reserve_test {

using storage::SpaceReserve;

TEST_CASE("a reserve grows, is found again by the next process, and is given up as a whole") {
  FaultyFileSystem files;
  {
    SpaceReserve reserve(files, "/reserve");
    CHECK(reserve.bytes() == 0);
    CHECK(reserve.release() == 0);
    reserve.grow_to(5000);
    reserve.grow_to(3000);
    CHECK(reserve.bytes() == 5000);
  }
  SpaceReserve next(files, "/reserve");
  CHECK(next.bytes() == 5000);
  next.grow_to(3 << 20);
  CHECK(files.open("/reserve", base::OpenMode::kRead).size() == 3 << 20);
  CHECK(next.release() == 3 << 20);
  CHECK(files.kind_of("/reserve") == base::PathKind::kNothing);
  CHECK(next.bytes() == 0);
}

TEST_CASE("a disk without room for the reserve keeps nothing of it") {
  FaultyFileSystem files;
  files.limit_bytes(10'000);
  SpaceReserve reserve(files, "/reserve");
  CHECK_THROWS_AS(reserve.grow_to(20'000), base::IoError);
  CHECK(reserve.bytes() == 0);
  CHECK(files.kind_of("/reserve") == base::PathKind::kNothing);
  reserve.grow_to(9'000);
  CHECK(reserve.bytes() == 9'000);
  CHECK_THROWS_AS(reserve.grow_to(20'000), base::IoError);
  CHECK(reserve.bytes() == 9'000);
  CHECK(files.contents("/reserve").value().size() == 9'000);
}

}  // namespace esper::test::space_reserve_test
