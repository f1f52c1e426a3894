#include "config/facts/exported_host.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::config::exported_host_test {

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
