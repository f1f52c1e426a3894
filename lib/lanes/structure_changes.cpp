#include "lanes/structure_changes.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/interrupt.h"
#include "device/asynchronous_error.h"
#include "lanes/lane/failure_text.h"
#include "lanes/structure/structure.h"

namespace esper::lanes {
namespace {

using LaneId = config::Lane;

// The key of the compiled program for which lane compiled was waiting when the run was stopped: the resumed run waits
// for it again, so that its steps have the same bits. Else empty.
std::string awaited_key(const KnownStructure* known, const std::string& shape) {
  if (known == nullptr) return {};
  const auto step = std::ranges::find(known->steps, shape, &KnownStep::shape);
  return step != known->steps.end() && step->waits_for_package() ? step->variant.key : std::string();
}

}  // namespace

void StructureChanges::begin_structure() {
  const std::uint64_t structure = context_.model.network.structure_version();
  if (!shapes_.empty() && shapes_.shapes().front()->structure != structure) drop_shapes(context_, shapes_, queue_);
  if (shapes_.empty() && preparer_.is_on()) structure_ = structure_of(context_.model);
}

void StructureChanges::prepare(std::span<const LikelyChange> likely, std::int64_t steps_left) {
  if (!preparer_.is_on() || shapes_.empty()) return;
  if (shapes_.shapes().front()->structure != context_.model.network.structure_version()) return;
  const PreparationTime preparing(context_);
  preparer_.prepare(structure_in_use(context_, shapes_, structure_), likely, steps_left);
}

void StructureChanges::keep_example(const StepShape& shape, std::span<const step::Microbatch> microbatches,
                                    std::int64_t left) {
  if (preparer_.is_on()) preparer_.keep_example(shape, microbatches, left);
}

void StructureChanges::keep_example(std::span<const step::Microbatch> microbatches, std::int64_t left) {
  if (!preparer_.is_on()) return;
  ShapeSet seen;
  const StepShape& shape = seen.add(version_, microbatches);
  if (!journal_.has(shape)) return;
  preparer_.keep_example(shape, microbatches, left);
  step::create_constants(context_.model.state, microbatches);  // inputs of programs
}

void StructureChanges::take_structure(std::int64_t number) {
  const std::uint64_t structure = context_.model.network.structure_version();
  if (std::exchange(version_, structure) == structure) return;
  if (!shapes_.empty() && shapes_.shapes().front()->structure == structure) return;
  const bool had_program = journal_.end_structure(number);
  if (!preparer_.is_on() || (shapes_.empty() && preparer_.examples().empty())) {
    drop_shapes(context_, shapes_, queue_);
    return record_swapped(number);
  }
  watch_.end();
  preparer_.give_up_dry_run();
  const PreparationTime preparing(context_);
  StructureLibrary& library = preparer_.library();
  const bool is_compiled = had_program && context_.config.lane == LaneId::kCompiled;
  const LaneId kind = is_compiled ? LaneId::kCompiled : lane_in_use(context_, shapes_);
  const KnownStructure* const before = library.find(structure_);
  KnownStructure left = knowledge_of(shapes_, structure_, before != nullptr ? before->prepare_ms : 0);
  drop_shapes(context_, shapes_, queue_);
  if (!structure_.empty() && !left.steps.empty()) library.put(std::move(left));
  structure_ = structure_of(context_.model);
  if (context_.config.lane == LaneId::kCompiled && kind == LaneId::kCompiled) preparer_.finish(structure_);
  const auto begin = context_.services.clock.now();
  const KnownStructure* const known = kind == LaneId::kEager ? nullptr : library.find(structure_);
  const std::optional<double> prepare_ms = known != nullptr ? std::optional(known->prepare_ms) : std::nullopt;
  const bool prepared = known != nullptr && install(*known, kind, number);
  record_swapped(number);
  const std::chrono::duration<double, std::micro> took = context_.services.clock.now() - begin;
  watch_.begin(number, prepared ? prepare_ms : std::nullopt, took.count());
}

// Returns false if it cannot be installed; the structure then starts as an unknown one.
bool StructureChanges::install(const KnownStructure& known, LaneId kind, std::int64_t number) {
  try {
    StructureInstaller installer(context_, shapes_, queue_, machine_, journal_);
    return installer.install(known, preparer_.examples(), kind, number);
  } catch (const std::exception& error) {
    if (device::is_asynchronous_error(error.what())) throw;  // the GPU is lost
    const std::string reason = describe(error);
    drop_shapes(context_, shapes_, queue_);
    report_unprepared(context_, "the new structure", reason);
    preparer_.library().drop(structure_);
    return false;
  }
}

// Records the bits with which a checkpoint at this step continues.
void StructureChanges::record_swapped(std::int64_t number) {
  const bool stopped = context_.config.lane == LaneId::kCompiled && base::Interrupt::requested() != 0;
  const KnownStructure* const known = stopped ? preparer_.library().find(structure_) : nullptr;
  journal_.record_all(number, [&](const std::string& name, const std::string& key) {
    StepShape* const shape = shapes_.find(name);
    const bool compiled = shape != nullptr && shape->runs_compiled();
    const std::string now = compiled ? shape->incumbent->key() : key.empty() ? key : awaited_key(known, name);
    if (shape != nullptr) shape->recorded = {.key = now};
    if (compiled) shape->recorded.bits = shape->incumbent->bits();
    return now;
  });
}

}  // namespace esper::lanes
