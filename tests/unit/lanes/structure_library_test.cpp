#include "lanes/structure/structure_library.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

namespace esper::test::structure_library_test {

using lanes::KnownStructure;
using lanes::StructureLibrary;

namespace {

KnownStructure prepared_in(const std::string& structure, double ms) {
  KnownStructure known{structure};
  known.prepare_ms = ms;
  return known;
}

}  // namespace

TEST_CASE("a full library forgets the structure that was not looked at for longest") {
  StructureLibrary library;
  for (std::size_t i = 0; i < StructureLibrary::kMost; ++i) library.put(prepared_in(std::to_string(i), 1));
  REQUIRE(library.find("0") != nullptr);
  library.put(prepared_in("new", 1));
  CHECK(library.find("1") == nullptr);
  CHECK(library.find("0") != nullptr);
  CHECK(library.find("2") != nullptr);
  CHECK(library.find("new") != nullptr);
}

TEST_CASE("a structure that is known better replaces what was known of it, and no other one") {
  StructureLibrary library;
  for (std::size_t i = 0; i < StructureLibrary::kMost; ++i) library.put(prepared_in(std::to_string(i), 1));
  CHECK(library.put(prepared_in("5", 7)).prepare_ms == 7);
  CHECK(library.find("5")->prepare_ms == 7);
  for (std::size_t i = 0; i < StructureLibrary::kMost; ++i) CHECK(library.find(std::to_string(i)) != nullptr);
  library.drop("5");
  library.drop("unknown");
  CHECK(library.find("5") == nullptr);
  CHECK(library.find("6") != nullptr);
}

}  // namespace esper::test::structure_library_test
