#include "tamiyo/service/shadow_policies.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tamiyo/service/log_record.h"

namespace esper::tamiyo {

using nlohmann::json;

std::vector<leyline::ShadowRecord> ShadowPolicies::begin(const leyline::Observation& observation) {
  std::vector<leyline::ShadowRecord> records;
  for (const auto& [kind, shadow] : shadows_) {
    records.push_back({kind, shadow->state(), {}});
    shadow->begin(observation);
  }
  return records;
}

void ShadowPolicies::finish(std::vector<leyline::ShadowRecord>& records) {
  for (std::size_t i = 0; i < shadows_.size(); ++i) {
    records[i].answer = answer_record(shadows_[i].consultation->finish());
  }
}

json ShadowPolicies::states() const {
  json states = json::object();
  for (const auto& [kind, shadow] : shadows_) states[kind] = shadow->state();
  return states;
}

void ShadowPolicies::restore(const json& states) {
  unread_.clear();
  for (const auto& [kind, shadow] : shadows_) {
    if (!states.is_object()) unread_.push_back({kind, "the saved shadows are not an object"});
    if (!states.contains(kind)) continue;
    const json& own = states[kind];
    if (!own.is_string()) {
      unread_.push_back({kind, "it is not a text"});
      continue;
    }
    try {
      shadow->restore(own.get<std::string>());
    } catch (const base::Error& error) {  // of other weights, say: it changes nothing in the run
      unread_.push_back({kind, error.what()});
    }
  }
}

}  // namespace esper::tamiyo
