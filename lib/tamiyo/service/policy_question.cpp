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

constexpr char kAskedObservation[] = "observation";
constexpr char kAskedFigures[] = "figures";

}  // namespace

nlohmann::json question_json(const PolicyQuestion& question) {
  return {{kAskedObservation, leyline::observation_json(question.observation)},
          {kAskedFigures, base::to_json(named_figures(question.figures))}};
}

base::Expected<PolicyQuestion> read_question(const nlohmann::json& saved) {
  auto observation = leyline::read_observation(base::member(saved, kAskedObservation));
  if (!observation) return base::failure(observation.error());
  const auto figures = base::from_json<std::map<std::string, double>>(base::member(saved, kAskedFigures));
  if (!figures) return base::failure(figures.error());
  return PolicyQuestion{*std::move(observation), run_figures(*figures)};
}

}  // namespace esper::tamiyo
