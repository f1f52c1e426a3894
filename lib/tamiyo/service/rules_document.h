#pragma once
// The policy's actions and the rules that judge its decisions, as a document: docs/policy_rules.md.

#include <string>

namespace esper::tamiyo {

std::string rules_markdown();

}  // namespace esper::tamiyo
