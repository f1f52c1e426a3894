#include "drill/fault_points.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace esper::test::fault_points_test {

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// All sources of Esper but those of drills.
const std::string& sources() {
  static const std::string all = [] {
    std::string text;
    for (const char* folder : {"/lib", "/apps"}) {
      for (const auto& entry : fs::recursive_directory_iterator(std::string(ESPER_SOURCE_DIR) + folder)) {
        const auto ending = entry.path().extension();
        const bool is_source = ending == ".cpp" || ending == ".h";
        if (is_source && entry.path().parent_path().filename() != "drill") text += text_of(entry.path());
      }
    }
    return text;
  }();
  return all;
}

// The names that they give to `function`, but for those of the daemon, which are none of a training.
Names named_in_sources(const std::string& function) {
  const std::string begin = function + "(\"";
  Names names;
  for (auto at = sources().find(begin); at != std::string::npos; at = sources().find(begin, at + 1)) {
    const auto first = at + begin.size(), last = sources().find('"', first);
    const std::string name = sources().substr(first, last - first);
    if (sources().substr(last + 1, 1) == ")") names.insert(name);
  }
  std::erase_if(names, [](const std::string& name) { return name.starts_with("jobs."); });
  return names;
}

}  // namespace

TEST_CASE("the fault points that drills may name are those of the sources") {
  Names points = named_in_sources("fault::hit");
  points.erase("storage.write");  // an example in base/fault.h
  points.merge(named_in_sources("kill_point"));
  CHECK(points.size() > 15);
  const Names known(drill::kFaultPoints.begin(), drill::kFaultPoints.end());
  for (const auto& name : points) {
    CAPTURE(name);
    CHECK(known.contains(name));
  }
  for (const auto& name : known) {
    CAPTURE(name);
    CHECK(sources().find('"' + name + '"') != std::string::npos);
  }
  CHECK(named_in_sources("signal_point") == Names(drill::kSignalPoints.begin(), drill::kSignalPoints.end()));
}

TEST_CASE("the document on drills says what fails at each point") {
  const std::string document = text_of(ESPER_SOURCE_DIR "/docs/drills.md");
  for (const auto name : drill::kFaultPoints) {
    CAPTURE(name);
    CHECK(document.find("`" + std::string(name) + "`") != std::string::npos);
  }
  for (const auto phase : drill::kSignalPoints) {
    CAPTURE(phase);
    CHECK(document.find("`" + std::string(phase.substr(phase.find('.') + 1)) + "`") != std::string::npos);
  }
}

}  // namespace esper::test::fault_points_test
