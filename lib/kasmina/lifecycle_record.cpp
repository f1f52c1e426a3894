#include "kasmina/lifecycle_record.h"

namespace esper::kasmina {

using Kind = LifecycleEvent::Kind;

const char* label_of(Kind kind) {
  switch (kind) {
    case Kind::kGate:
      return "gate";
    case Kind::kCommandRejected:
      return "command_rejected";
    case Kind::kGraft:
      return "graft";
    case Kind::kCull:
      return "cull";
    case Kind::kViolation:
      return "isolation_violation";
    case Kind::kFold:
      return "fold";
    case Kind::kStage:
      break;
  }
  return "stage";
}

history::GrowthRecord record_of(const LifecycleEvent& event) {
  history::GrowthRecord record;
  record.what = label_of(event.kind);
  history::GrowthEvent happened;
  happened.seed_id = event.seed_id;
  happened.slot = event.slot;
  happened.blueprint = event.blueprint;
  happened.from = event.from;
  happened.to = event.to;
  happened.reason = event.reason;
  happened.command_id = event.command_id;
  happened.code = event.code;
  if (event.kind == Kind::kGate || event.kind == Kind::kFold) happened.passed = event.passed;
  happened.values.insert(event.values.begin(), event.values.end());
  happened.required.insert(event.required.begin(), event.required.end());
  record.event = std::move(happened);
  return record;
}

}  // namespace esper::kasmina
