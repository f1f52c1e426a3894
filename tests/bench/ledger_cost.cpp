// What a switch of the ledger costs. Prints one JSON line a case: the
// smallest and the median time of a scope (two switches) over rounds.

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/ledger/ledger.h"
#include "support/owner_times.h"

namespace {

using namespace esper::base;

constexpr int kRounds = 41, kScopes = 200'000;

double scope_ns(Ledger& ledger, const Clock& clock) {
  const auto begin = clock.now();
  for (int i = 0; i < kScopes; ++i) {
    const LedgerScope waiting(ledger, Owner::kLoaderWait);
    asm volatile("" ::: "memory");  // one iteration after the other, as in a run
  }
  return static_cast<double>((clock.now() - begin).count()) / kScopes;
}

double step_ns(Ledger& ledger, const Clock& clock) {
  const auto begin = clock.now();
  for (int i = 0; i < kScopes; ++i) {
    {
      const LedgerScope waiting(ledger, Owner::kLoaderWait, SinceLast{});
    }
    LedgerStep step(ledger);
    asm volatile("" ::: "memory");
    step.end(i);
  }
  return static_cast<double>((clock.now() - begin).count()) / kScopes;
}

struct Case {
  const char* name;
  double (*measure)(Ledger&, const Clock&);
};

bool run(const Case& c) {
  const Clock clock;
  Ledger ledger(clock);
  ledger.start_up_is_over();
  std::vector<double> ns;
  for (int i = 0; i < kRounds; ++i) ns.push_back(c.measure(ledger, clock));
  std::sort(ns.begin(), ns.end());
  ledger.settle();
  const bool right = esper::test::sum_of(ledger.settled().totals()) == ledger.settled().wall();
  std::printf("{\"case\": \"%s\", \"min_ns\": %.2f, \"median_ns\": %.2f, \"sums_to_wall\": %s}\n", c.name, ns.front(),
              ns[kRounds / 2], right ? "true" : "false");
  return right;
}

}  // namespace

int main() {
  bool right = true;
  for (const Case& c : {Case{"scope", scope_ns}, Case{"scope and step", step_ns}}) right = run(c) && right;
  return right ? 0 : 1;
}
