#pragma once
// What every trace file must be.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace esper::test {

// Times never go back, and two spans of the thread are apart or one holds the other.
inline void check_trace(const nlohmann::json& trace) {
  REQUIRE(trace.at("traceEvents").is_array());
  const auto ns = [](const nlohmann::json& us) { return std::llround(us.get<double>() * 1000); };
  long long last = 0;
  std::vector<long long> open;  // ends of the spans around
  for (const auto& event : trace["traceEvents"]) {
    const std::string phase = event.at("ph");
    if (phase == "M") continue;
    const long long begin = ns(event.at("ts"));
    if (begin < last) FAIL_CHECK("goes back in time: " << event.dump());
    last = begin;
    while (!open.empty() && open.back() <= begin) open.pop_back();
    if (phase != "X") continue;
    const long long end = begin + ns(event.at("dur"));
    if (end < begin) FAIL_CHECK("ends before it begins: " << event.dump());
    if (!open.empty() && end > open.back()) FAIL_CHECK("overlaps another span: " << event.dump());
    open.push_back(end);
  }
  CHECK(last >= 0);
}

}  // namespace esper::test
