#pragma once
// Who else sees a ledger's scopes: a profiler, by hooks, and a trace, by the spans that are kept for it. Training
// thread.

#include <cstdint>
#include <memory>

#include "base/ledger/owner.h"

namespace esper::base {

struct SpanLog;

// Called for every scope, for ranges in a profiler (NVTX). Both or none.
struct LedgerHooks {
  void (*on_enter)(Owner) = nullptr;
  void (*on_leave)(Owner) = nullptr;
};

class LedgerWatch {
 public:
  LedgerWatch();
  ~LedgerWatch();
  LedgerWatch(LedgerWatch&&) noexcept;
  LedgerWatch& operator=(LedgerWatch&&) noexcept;

  void set_hooks(LedgerHooks hooks);
  // From now on scopes, steps and epochs are kept for a trace. No scope may be open.
  void keep_spans();
  // Null without keep_spans().
  SpanLog* spans() { return spans_.get(); }
  const SpanLog* spans() const { return spans_.get(); }

  // Without it nobody looks, and the ledger need not report.
  bool is_on() const { return is_on_; }
  void entered(Owner owner);
  // `begun` and `now`, here and below: ticks of the ledger.
  void left(Owner owner, std::uint64_t begun, std::uint64_t now);
  // `owner`: of the scope that the step ran in.
  void step_ended(std::int64_t number, Owner owner, std::uint64_t begun, std::uint64_t now);

 private:
  bool is_on_ = false;
  LedgerHooks hooks_;
  std::unique_ptr<SpanLog> spans_;
  std::int64_t step_ = 0;  // the number of the last one
};

}  // namespace esper::base
