#include "tamiyo/service/policy_question.h"

#include <map>
#include <string>
#include <utility>

#include "base/text/json_fields.h"
#include "base/text/json_struct.h"
#include "leyline/observation_json.h"
#include "tamiyo/service/log_record.h"

namespace esper::tamiyo {

namespace {

constexpr char kObservation[] = "observation";
constexpr char kFigures[] = "figures";

}  // namespace

nlohmann::json question_json(const PolicyQuestion& question) {
  return {{kObservation, leyline::observation_json(question.observation)},
          {kFigures, base::to_json(named_figures(question.figures))}};
}

base::Expected<PolicyQuestion> read_question(const nlohmann::json& saved) {
  auto observation = leyline::read_observation(base::member(saved, kObservation));
  if (!observation) return base::failure(observation.error());
  const auto figures = base::from_json<std::map<std::string, double>>(base::member(saved, kFigures));
  if (!figures) return base::failure(figures.error());
  return PolicyQuestion{*std::move(observation), run_figures(*figures)};
}

}  // namespace esper::tamiyo
