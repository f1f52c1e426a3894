#include "base/ledger/ledger_watch.h"

#include "base/error.h"
#include "base/ledger/span_log.h"

namespace esper::base {

LedgerWatch::LedgerWatch() = default;
LedgerWatch::~LedgerWatch() = default;
LedgerWatch::LedgerWatch(LedgerWatch&&) noexcept = default;
LedgerWatch& LedgerWatch::operator=(LedgerWatch&&) noexcept = default;

void LedgerWatch::set_hooks(LedgerHooks hooks) {
  ESPER_CHECK((hooks.on_enter == nullptr) == (hooks.on_leave == nullptr), "both hooks or none");
  hooks_ = hooks;
  is_on_ = hooks_.on_enter != nullptr || spans_;
}

void LedgerWatch::keep_spans() {
  spans_ = std::make_unique<SpanLog>();
  is_on_ = true;
}

void LedgerWatch::entered(Owner owner) {
  if (hooks_.on_enter != nullptr) hooks_.on_enter(owner);
}

void LedgerWatch::left(Owner owner, std::uint64_t begun, std::uint64_t now) {
  if (hooks_.on_leave != nullptr) hooks_.on_leave(owner);
  if (spans_) spans_->spans.add({begun, now, step_, Span::Kind::kOwner, owner});
}

void LedgerWatch::step_ended(std::int64_t number, Owner owner, std::uint64_t begun, std::uint64_t now) {
  step_ = number;
  if (spans_) spans_->spans.add({begun, now, number, Span::Kind::kStep, owner});
}

}  // namespace esper::base
