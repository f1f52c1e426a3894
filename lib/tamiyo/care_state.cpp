#include "tamiyo/care_state.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/text/json_fields.h"
#include "tamiyo/heuristic_state.h"
#include "tamiyo/process/process_state.h"
#include "tamiyo/service/policy_question.h"
#include "tamiyo/service/policy_service.h"
#include "tamiyo/service/shadow_policies.h"

namespace esper::tamiyo {

using nlohmann::json;

namespace {

constexpr int kFormat = 1;

[[noreturn]] void fail(const std::string& what) {
  throw base::Error(base::ExitCode::kCheckpoint, "the saved state of the policy is unusable: " + what);
}

json watch_json(const SeedWatch& watch) {
  json saved{{"slot", watch.slot},
             {"blueprint", watch.blueprint},
             {"stage", base::name_of(watch.stage)},
             {"best_points", watch.best_points ? json(*watch.best_points) : json(nullptr)},
             {"stale_epochs", watch.stale_epochs},
             {"refusals", watch.refusals},
             {"next_ask_epoch", watch.next_ask_epoch}};
  // Only where it holds: a log of an earlier version has states without it, and a replay compares the states.
  if (watch.is_culled) saved["is_culled"] = true;
  return saved;
}

SeedWatch read_watch(const json& saved) {
  SeedWatch watch;
  watch.slot = saved.at("slot").get<std::string>();
  watch.blueprint = saved.at("blueprint").get<std::string>();
  const auto stage = base::from_name<leyline::Stage>(saved.at("stage").get<std::string>());
  if (!stage) fail("unknown stage " + saved.at("stage").dump());
  watch.stage = *stage;
  watch.best_points = base::optional_of<double>(saved.at("best_points"));
  watch.stale_epochs = base::whole_at<std::uint32_t>(saved, "stale_epochs");
  watch.refusals = base::whole_at<std::uint32_t>(saved, "refusals");
  watch.next_ask_epoch = base::whole_at<std::uint32_t>(saved, "next_ask_epoch");
  watch.is_culled = saved.value("is_culled", false);  // earlier versions forgot the seed
  return watch;
}

Germination read_germination(const json& saved) {
  return {saved.at("slot").get<std::string>(), saved.at("blueprint").get<std::string>()};
}

std::vector<Germination> read_asked(const json& saved) {
  std::vector<Germination> asked;
  if (saved.contains("asked")) {
    for (const json& one : saved["asked"]) asked.push_back(read_germination(one));
  } else if (const json& one = saved.at("asked_germination"); !one.is_null()) {  // earlier versions asked for one
    asked.push_back(read_germination(one));
  }
  return asked;
}

}  // namespace

json care_json(const CareState& state) {
  json asked = json::array(), seeds = json::object();
  for (const auto& one : state.asked) asked.push_back({{"slot", one.slot}, {"blueprint", one.blueprint}});
  for (const auto& [id, watch] : state.seeds) seeds[id] = watch_json(watch);
  return {
      {"format", kFormat}, {"last_epoch", state.last_epoch}, {"asked", std::move(asked)}, {"seeds", std::move(seeds)}};
}

CareState read_care(const json& saved) {
  CareState state;
  state.last_epoch = base::whole_at<std::uint32_t>(saved, "last_epoch");
  state.asked = read_asked(saved);
  for (const auto& [id, watch] : saved.at("seeds").items()) state.seeds[id] = read_watch(watch);
  return state;
}

void read_saved_state(const std::string& text, const std::function<void(const json& saved)>& read) {
  try {
    const json saved = json::parse(text);
    if (saved.at("format") != kFormat) fail("written by another version");
    read(saved);
  } catch (const json::exception& error) {
    fail(base::plain_reason(error));
  }
}

namespace {

// One that remembers no seeds, or cannot be read, stays as it is.
std::string forget_in_shadow(const std::string& text, const std::string& seed_id, const std::string& slot) {
  try {
    return forget_seed(text, seed_id, slot);
  } catch (const base::Error&) {
    return text;
  }
}

// A user's controller sees in its next observation that the seed is gone; what it remembers is its own.
void forget_in_care(const std::string& text, const std::string& seed_id, const std::string& slot, json& saved) {
  if (base::member(saved, kUsersState).is_object()) return;
  read_saved_state(text, [&](const json& own) {
    auto state = read_care(own);
    state.seeds.erase(seed_id);
    std::erase_if(state.asked, [&](const Germination& asked) { return asked.slot == slot; });
    saved.update(care_json(state));
  });
}

}  // namespace

std::string forget_seed(const std::string& text, const std::string& seed_id, const std::string& slot) {
  try {
    json saved = json::parse(text);
    forget_in_care(text, seed_id, slot, saved);
    // Of another network:
    saved.erase(kOpenQuestion);
    forget_network(saved);
    forget_service_figures(saved);
    if (saved.contains(kShadowStates)) {
      for (auto& shadow : saved[kShadowStates]) shadow = forget_in_shadow(shadow.get<std::string>(), seed_id, slot);
    }
    return saved.dump();
  } catch (const json::exception& error) {
    fail(base::plain_reason(error));
  }
}

}  // namespace esper::tamiyo
