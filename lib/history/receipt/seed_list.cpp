#include "history/receipt/seed_list.h"

#include <algorithm>
#include <map>
#include <set>

#include "history/growth/run_history.h"

namespace esper::history {
namespace {

using leyline::SlotTopology;
using leyline::Stage;
using Outcome = Receipt::Outcome;

// Follows all seeds through the topologies of a run.
class SeedLister {
 public:
  void take(const GrowthRecord& record, const leyline::Topology& topology) {
    left_out_.insert(record.without.begin(), record.without.end());
    std::set<std::string> here;
    for (const SlotTopology& slot : topology.slots) {
      if (slot.seed_id.empty()) continue;
      here.insert(slot.seed_id);
      take_slot(record.place, slot);
    }
    for (const std::string& seed_id : present_) {
      if (!here.contains(seed_id)) cull(record.place, seed_id);
    }
    present_ = std::move(here);
    last_ = record.place;
  }

  std::vector<ListedSeed> finish() {
    std::erase_if(seeds_, [&](const ListedSeed& seed) { return left_out_.contains(seed.seed_id); });
    for (ListedSeed& seed : seeds_) {
      const std::uint32_t end = seed.ended.value_or(last_).epoch;
      seed.epochs = std::max(end, seed.from.epoch) - seed.from.epoch;
    }
    return std::move(seeds_);
  }

 private:
  void take_slot(RunPlace place, const SlotTopology& slot) {
    const auto [found, is_new] = numbers_.try_emplace(slot.seed_id, seeds_.size());
    if (is_new) seeds_.push_back({slot.seed_id, slot.id, slot.blueprint, Outcome::kGrowing, slot.stage, place, {}, 0});
    ListedSeed& seed = seeds_[found->second];
    seed.stage = slot.stage;
    if (slot.stage != Stage::kFossilized) {
      seed.outcome = Outcome::kGrowing;
      seed.ended.reset();
    } else if (seed.outcome != Outcome::kFossilized) {
      seed.outcome = Outcome::kFossilized;
      seed.ended = place;
    }
  }
  void cull(RunPlace place, const std::string& seed_id) {
    ListedSeed& seed = seeds_[numbers_.at(seed_id)];
    seed.outcome = Outcome::kCulled;
    seed.ended = place;
  }

  std::vector<ListedSeed> seeds_;
  std::map<std::string, std::size_t> numbers_;  // of a seed among these
  std::set<std::string> present_, left_out_;
  RunPlace last_;
};

}  // namespace

SeedList read_seed_list(const std::filesystem::path& run) {
  RunHistory journal = read_run_history(run.string());
  SeedList list{{}, std::move(journal.gaps)};
  const Lineage lineage = read_lineage(run.string(), std::move(journal.history));
  list.gaps.insert(list.gaps.end(), lineage.gaps.begin(), lineage.gaps.end());
  SeedLister lister;
  lineage.history.replay(
      {}, [&](const GrowthRecord& record, const GrowthHistory::State& now) { lister.take(record, now.topology); });
  list.seeds = lister.finish();
  return list;
}

}  // namespace esper::history
