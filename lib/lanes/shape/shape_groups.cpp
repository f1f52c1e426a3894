#include "lanes/shape/shape_groups.h"

#include "lanes/lane/failure_text.h"
#include "lanes/lane/recording.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {
namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

bool has_begun(StepShape& shape) {
  const Lane* tried = shape.candidate();
  if (tried == nullptr && shape.withheld) tried = &*shape.withheld;
  const bool tries = tried != nullptr && !tried->key().empty();
  return shape.search.compiling || tries || shape.runs_compiled();
}

void resume_search(StepShape& shape) {
  if (shape.is(StateId::kSettled)) shape.enter(ShapeEvent::kSearchResumed, Searching{});
}

}  // namespace

void ShapeGroups::report_not_dynamic(const std::string& reason) const {
  context_.emit(
      event("tolaria.lane_refused"_event, Level::kWarning,
            {{"lane", "compiled"}, {"reason", "no program for all batch sizes, each has its own: " + reason}}));
}

void ShapeGroups::join(StepShape& shape, std::span<const step::Microbatch> microbatches) {
  if (shape.group != nullptr || shapes_.each_size_alone) return;
  const std::int64_t n = batch_size_of(microbatches);
  for (const auto& group : shapes_.groups()) {
    if (!group->program.covers(n) || group->program.at(n) != *shape.program) continue;
    shape.group = group.get();
    StepShape& leader = *group->leader;
    // A compilation has to pay for the batch size of most steps.
    if (n > group->leader_size && !has_begun(leader)) {
      leader.search.wanted.clear();
      leader.search.undecided = false;
      group->leader = &shape;
      group->leader_size = n;
      resume_search(leader);
    }
    return;
  }
  found(shape, microbatches, n);
}

void ShapeGroups::found(StepShape& shape, std::span<const step::Microbatch> microbatches, std::int64_t n) {
  std::string reason;
  try {
    auto symbolic = record_for_all_sizes(context_.model, microbatches, *shape.program, context_.forward);
    if (symbolic) {
      shape.group = &shapes_.add_group({std::move(*symbolic), &shape, n});
      return;
    }
    reason = symbolic.error();
  } catch (const c10::Error& error) {
    reason = describe(error);  // most likely out of memory
  }
  report_not_dynamic(reason);
}

void ShapeGroups::dissolve(const ShapeGroup& group, const std::string& reason) {
  shapes_.each_size_alone = true;
  report_not_dynamic(reason);
  for (const auto& shape : shapes_.shapes()) {
    if (shape->group != &group) continue;
    shape->group = nullptr;
    shape->search.begun = shape->search.rejected = false;
    shape->search.in_full.clear();
    shape->search.recipe_us.clear();
    resume_search(*shape);
  }
}

void ShapeGroups::withdraw(const StepShape& shape, const std::string& key) {
  if (shape.group == nullptr) return;
  const auto give_up = [](StepShape& other) {
    other.search.rejected = true;
    other.search.tried_uncompiled = false;
  };
  for (const auto& other : shapes_.shapes()) {
    if (other->group != shape.group) continue;
    if (const Lane* tried = other->candidate(); tried != nullptr && tried->key() == key) {
      give_up(*other);
      other->enter(ShapeEvent::kWithdrawn, Searching{});
    }
    if (other->withheld && other->withheld->key() == key) {
      give_up(*other);
      other->withheld.reset();
    }
    if (other->incumbent && other->incumbent->key() == key) {
      give_up(*other);
      other->incumbent.reset();
      if (other->is(StateId::kRechecking)) other->enter(ShapeEvent::kWithdrawn, Searching{});
      resume_search(*other);
    }
  }
}

void ShapeGroups::offer_to_members(const StepShape& leader) {
  if (leader.group == nullptr || leader.group->leader != &leader || !leader.runs_compiled()) return;
  for (const auto& other : shapes_.shapes()) {
    if (other->group == leader.group && other.get() != &leader && !other->search.took_shared) resume_search(*other);
  }
}

}  // namespace esper::lanes
