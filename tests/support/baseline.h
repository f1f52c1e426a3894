#pragma once
#include <string>

namespace esper::test {

// Whether baselines/PATH holds exactly this text. If not, the text goes to build/received/PATH, from where
// `scripts/approve -m REASON` makes it the baseline.
bool matches_baseline(const std::string& path, const std::string& text);

}  // namespace esper::test
