#pragma once
// Has networks recorded, compiled in the background and checked, and puts the compiled form in place between two calls.
// What cannot be compiled is replayed, what cannot be recorded runs eagerly: a failure costs time, never an answer. All
// on the training thread, while no call of the network is in flight.

#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "program/compile_service.h"
#include "tamiyo/network/policy_network.h"

namespace esper::tamiyo {

// Why a network does not run in the form that was requested.
struct CompileFallback {
  std::string cause;   // "not_recorded", "no_compiler", "compile_error", "load_error", "wrong_result", "quarantined"
  std::string reason;  // of this time
};

struct CompileFigures {
  int compiled = 0;                    // networks whose compiled form is in place
  std::int64_t fallbacks = 0;          // tamiyo.gnn.compile_fallback_total
  std::optional<double> warm_ms = {};  // of the last one to be put in place: loading it and running it twice
};

class NetworkCompiler {
 public:
  // service: made for one thread; outlives it; null: there is no compiler.
  explicit NetworkCompiler(program::CompileService* service) : service_(service) {}

  // Records the network for these caps, which is replayed from then on; asks for its compiled form, or puts it in place
  // where the cache has it.
  void request(PolicyNetwork& network, const Caps& caps);

  // Puts in place what was compiled meanwhile. Never waits.
  void poll(PolicyNetwork& network);
  // The same, after waiting until nothing is pending or the compiler gave up.
  void wait(PolicyNetwork& network);

  const CompileFigures& figures() const { return figures_; }
  // Those with a cause that no earlier call returned: one warning for each cause.
  std::vector<CompileFallback> take_fallbacks();

 private:
  struct Pending {
    Caps caps;
    std::string key;
  };

  bool put_in_place(PolicyNetwork& network, const Pending& pending);
  void finish(PolicyNetwork& network, const Pending& pending, const program::CompileOutcome& outcome);
  void fall_back(const std::string& cause, const std::string& reason);

  program::CompileService* service_;
  base::Clock clock_;
  std::vector<Pending> pending_;
  CompileFigures figures_;
  std::set<std::string> causes_;
  std::vector<CompileFallback> untaken_;
};

// A graph that fills the caps, with edges in every relation: what a form is checked and warmed up with.
HeteroGraph full_graph(const Caps& caps);

}  // namespace esper::tamiyo
