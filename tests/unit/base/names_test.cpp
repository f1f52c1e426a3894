#include "base/names.h"

#include <catch2/catch_test_macros.hpp>

#include "base/text/nearest.h"
#include "config/run_config.h"

namespace esper::test::names_test {

using namespace esper::base;
using namespace esper::config;

TEST_CASE("enums and their names find each other") {
  CHECK(name_of(Precision::kBf16) == "bf16");
  CHECK(from_name<Precision>("bf16") == Precision::kBf16);
  CHECK(from_name<Precision>("bf17") == std::nullopt);
  CHECK(name_of(static_cast<Precision>(99)).empty());
  CHECK(all_names<Precision>() == "auto, fp32, bf16, fp16");
}

TEST_CASE("edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("momentum", "momentun") == 1);
  CHECK(edit_distance("epochs", "epcohs") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance(std::string(1000, 'a'), std::string(1000, 'b')) == 64);
}

TEST_CASE("the nearest name is offered only if it is near") {
  const std::vector<std::string> known{"momentum", "nesterov", "lr"};
  CHECK(nearest("momentm", known) == "momentum");
  CHECK(nearest("rl", known) == "lr");
  CHECK(nearest("colour", known) == std::nullopt);
  CHECK(nearest(std::string(1000, 'x'), known) == std::nullopt);
}

}  // namespace esper::test::names_test
