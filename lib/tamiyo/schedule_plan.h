#pragma once
// policy.kind schedule: the germinations that the run file lists or growth.kind deepen stands for
// (config/facts/deepening.h), each once, after its epoch. Which lines are over
// follows from the epoch alone, so there is no state.

#include <cstdint>
#include <string>
#include <vector>

#include "config/entries/entry.h"
#include "config/entries/scheduled_germination.h"
#include "tamiyo/plan.h"

namespace esper::tamiyo {

class SchedulePlan {
 public:
  static constexpr char kName[] = "schedule";

  // lines: all of them are valid. epochs: of the whole run, which percentages refer to.
  SchedulePlan(const std::vector<config::Entry<config::ScheduledGermination>>& lines, int epochs);

  PlanAnswers after(const Moment& moment) const;
  // The lines of the next epoch that has one, and that these slots allow, were they free; one for each slot.
  std::vector<Germination> next(std::uint32_t previous_epoch, const std::vector<leyline::SlotState>& slots) const;

 private:
  struct Line {
    std::uint32_t epoch = 0;
    Germination what;
    std::string text;
  };

  std::string until_next(std::uint32_t epoch) const;

  std::vector<Line> lines_;  // by epoch, then in the run file's order
};

}  // namespace esper::tamiyo
