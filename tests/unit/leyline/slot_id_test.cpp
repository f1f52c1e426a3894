#include "leyline/slot_id.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::leyline::slot_id_test {
namespace {

TEST_CASE("a slot's id names its row and its column") {
  CHECK(slot_id_of(0) == "r0c0");
  CHECK(slot_id_of(12) == "r0c12");
  CHECK(is_slot_id(slot_id_of(12)));
  CHECK(is_slot_id("r7c0"));
  for (const char* text : {"", "r", "c0", "r0", "r0c", "rc0", "r0c1x", "0c0", "r-1c0", "r0 c1"}) {
    INFO(text);
    CHECK_FALSE(is_slot_id(text));
  }
}

}  // namespace
}  // namespace esper::leyline::slot_id_test
