#include "tolaria/run/saver.h"

#include "base/error.h"
#include "base/signal_point.h"
#include "base/text/rounding.h"

namespace esper::tolaria {
namespace {

using Rank = CheckpointStore::Rank;

// True for the state right after the best epoch, not for one within the next.
Rank rank_of(const SaveSource& source) {
  const RunProgress& progress = source.progress;
  const bool best = progress.best && progress.best->epoch == progress.epoch && progress.batch == 0;
  return best && source.facts.config.checkpoint.keep_best ? Rank::kBest : Rank::kOrdinary;
}

}  // namespace

Saver::Saver(const SaveSource& source, CheckpointWriter& writer, Outbox& outbox, base::Ledger& ledger,
             leyline::Progress& display)
    : source_(source), writer_(writer), ledger_(ledger), display_(display), reports_(outbox) {
  if (source.progress.step > 0) saved_ = state_of(source);
  // Tensors are nearly all of a checkpoint.
  writer_.keep_space(kasmina::bytes_of(step::all_tensors(source.model, source.facts.device)));
}

bool Saver::is_saved() const { return saved_ == state_of(source_); }

void Saver::report_results() {
  for (const auto& result : writer_.take_results()) {
    if (result.kind == SaveResult::Kind::kCheckpoint && !result.path.empty()) saved_ = result.info;
    reports_.report(result);
  }
}

void Saver::save(CheckpointWriter::Urgency urgency, const StateCopy* model) {
  const base::LedgerScope saving(ledger_, base::Owner::kCheckpoint);
  display_.phase = leyline::Phase::kSaving;
  const base::Clock& clock = source_.facts.clock;
  const auto begin = clock.now();
  const auto handover = writer_.submit(held_ ? *held_ : image_for_use(source_, model), rank_of(source_), urgency);
  if (handover == CheckpointWriter::Handover::kBusy) reports_.report_skipped(state_of(source_));
  base::fault::signal_point("tolaria.saving");  // while the other thread writes
  reports_.record_stall(base::milliseconds(clock.now() - begin));
  report_results();
}

void Saver::hold() {
  const base::LedgerScope copying(ledger_, base::Owner::kCheckpoint);
  held_ = image_of(source_);
}

void Saver::hold(const StateCopy& model, const RunProgress& progress) {
  const base::LedgerScope copying(ledger_, base::Owner::kCheckpoint);
  held_ = image_of({source_.facts, source_.model, progress, source_.policy}, &model);
}

bool Saver::finish() {
  const base::LedgerScope saving(ledger_, base::Owner::kCheckpoint);
  display_.phase = leyline::Phase::kSaving;
  const bool written = writer_.flush();
  report_results();
  return written;
}

bool Saver::save_last_state() {
  constexpr int kAttempts = 2;
  for (int i = 0; i < kAttempts; ++i) {
    if (!finish()) return false;
    if (is_saved()) return true;
    save(CheckpointWriter::Urgency::kLast, nullptr);
  }
  return finish() && is_saved();
}

bool leaves_whole_step(const std::exception& error) {
  const auto* known = dynamic_cast<const base::Error*>(&error);
  return known != nullptr && known->code() == base::ExitCode::kData;
}

bool save_after(Saver& saver, const std::exception& error) {
  return saver.is_saved() || (leaves_whole_step(error) && saver.save_last_state());
}

}  // namespace esper::tolaria
