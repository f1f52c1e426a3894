#include "config/facts/exported_host.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <string>

#include "support/temporary_folder.h"

namespace esper::config::exported_host_test {

TEST_CASE("a host whose outputs have no dimension besides the batch's is refused") {
  const test::TemporaryFolder folder;
  const auto read_with = [&](const std::string& output) {
    std::ofstream(folder / kExportedHostFile)
        << R"({"format": 1, "source": "net.py:Net", "input": {"sizes": [4], "dtype": "float32"}, "output": )" << output
        << R"(, "parameters": [], "frozen": [], "sites": []})";
    return read_exported_host(folder.path());
  };
  CHECK(read_with("[3]"));
  const auto refused = read_with("[]");
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error(), Catch::Matchers::ContainsSubstring("its outputs have no dimension besides the batch's"));
}

TEST_CASE("a star in growth.slots takes one part of a path, two take any") {
  ExportedSite site;
  site.path = "layer3.0.conv";
  site.also = {"layer3.0.body"};
  for (const char* text :
       {"layer3.0.conv", "layer3.0.conv.out", "layer3.*.conv", "layer3.*.body.out", "*.*.*", "**", "layer3.**"}) {
    INFO(text);
    CHECK(names_site(site, text));
  }
  for (const char* text : {"layer3.*", "*", "layer3.*.out", "layer3.0", "*.conv", "auto", "layer3.*.norm"}) {
    INFO(text);
    CHECK_FALSE(names_site(site, text));
  }
  site.is_block = true;
  CHECK(names_site(site, "auto"));
}

}  // namespace esper::config::exported_host_test
