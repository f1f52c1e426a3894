#include "drill/certificate.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "config/writing/write.h"

namespace esper::drill {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Aspect& aspect) {
  return {{"name", aspect.name},
          {"compared", aspect.compared},
          {"unit", aspect.unit},
          {"equal", aspect.difference.empty()},
          {"difference", aspect.difference},
          {"remark", aspect.remark}};
}

ordered_json json_of(const KilledRun& run) {
  ordered_json kills = ordered_json::array(), compared = ordered_json::array();
  for (const Kill& kill : run.training.kills)
    kills.push_back({{"after_ms", kill.after_ms}, {"checkpoint", kill.checkpoint}, {"counts", kill.counts}});
  for (const Aspect& aspect : run.aspects) compared.push_back(json_of(aspect));
  return {{"processes", run.training.processes}, {"kills", kills}, {"compared", compared}};
}

}  // namespace

ordered_json certificate(const ResumeProof& proof, const TrainingPlan& plan, const config::RunConfig& config,
                         const CertificateFacts& facts) {
  ordered_json runs = ordered_json::array();
  for (const KilledRun& run : proof.runs) runs.push_back(json_of(run));
  return {{"format", 1},
          {"equal", proof.is_equal()},
          {"esper", facts.build},
          {"config",
           {{"file", plan.config},
            {"hash", fmt::format("{:016x}", config::config_hash(config))},
            {"set", plan.assignments}}},
          {"begin", std::string(base::name_of(proof.begin))},
          {"reference_s", proof.reference_s},
          {"kills", proof.kills()},
          {"wanted_kills", proof.wanted},
          {"seed", facts.seed},
          {"faults", facts.faults},
          {"runs_kept_in", facts.runs},
          {"runs", runs}};
}

}  // namespace esper::drill
