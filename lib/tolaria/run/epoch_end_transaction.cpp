#include "tolaria/run/epoch_end_transaction.h"

#include <utility>

namespace esper::tolaria {

void EpochEndTransaction::begin(std::size_t events) {
  saver_.hold();
  before_ = {progress_, events};
}

void EpochEndTransaction::begin_at(const RunProgress& restored) {
  if (!before_) return;
  progress_ = restored;
  saver_.hold();
  std::swap(progress_, before_->progress);
}

EpochEnd EpochEndTransaction::complete(const std::function<EpochEnd()>& end_epoch) {
  EpochEnd end = EpochEnd::kInterrupted;
  try {
    end = end_epoch();
  } catch (...) {
    rollback();
    throw;
  }
  end == EpochEnd::kComplete ? commit() : rollback();
  return end;
}

void EpochEndTransaction::commit() {
  saver_.release();
  before_.reset();
}

void EpochEndTransaction::rollback() {
  if (!before_) return;
  progress_ = std::move(before_->progress);
  outbox_.keep_first(before_->events);
  before_.reset();
}

}  // namespace esper::tolaria
