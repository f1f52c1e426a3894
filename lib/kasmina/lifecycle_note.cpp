#include "kasmina/lifecycle_note.h"

namespace esper::kasmina {

using Kind = LifecycleEvent::Kind;

const char* word_of(Kind kind) {
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

history::GrowthNote note_of(const LifecycleEvent& event) {
  history::GrowthNote note;
  note.what = word_of(event.kind);
  history::GrowthEvent told;
  told.seed_id = event.seed_id;
  told.slot = event.slot;
  told.blueprint = event.blueprint;
  told.from = event.from;
  told.to = event.to;
  told.reason = event.reason;
  told.command_id = event.command_id;
  told.code = event.code;
  if (event.kind == Kind::kGate || event.kind == Kind::kFold) told.passed = event.passed;
  told.values.insert(event.values.begin(), event.values.end());
  told.required.insert(event.required.begin(), event.required.end());
  note.event = std::move(told);
  return note;
}

}  // namespace esper::kasmina
