#include "tolaria/checkpoint/growth_check.h"

#include <fmt/core.h>

#include "base/error.h"
#include "kasmina/slot/topology.h"

namespace esper::tolaria {

using history::Agreement;

base::Expected<void> check_growth(const history::GrowthHistory& history, const CheckpointImage& image) {
  const auto held = kasmina::topology_of(image.run.at("topology"));
  const auto agreement = compare(history, {image.info.epoch, image.info.step}, held);
  if (agreement.kind == Agreement::Kind::kAgrees) return {};
  if (agreement.kind != Agreement::Kind::kDiffers) return base::failure(agreement.text);
  throw base::Error(base::ExitCode::kCheckpoint,
                    fmt::format("the journal and the checkpoint of epoch {}, step {} describe two different networks "
                                "(journal -> checkpoint): {}; move the checkpoint away to continue from an older one, "
                                "or all journal files (journal, journal-*) to use the checkpoint",
                                image.info.epoch, image.info.step, agreement.text));
}

std::string start_record(const std::string& what, const CheckpointInfo& at, const leyline::Topology& topology) {
  history::GrowthRecord record;
  record.what = what;
  record.place = {at.epoch, at.step};
  record.snapshot = topology;
  return history::growth_record_json(record).dump();
}

}  // namespace esper::tolaria
