#pragma once
// The stages of a slot and the moves between them: one table, the only judge of what is legal. Any thread.

#include <optional>
#include <string>

#include "leyline/seed.h"

namespace esper::kasmina {

struct IllegalMove {
  leyline::Stage from, to;
  // "TRAINING cannot become SHADOWING; from TRAINING a slot may move to BLENDING or CULLED"
  std::string text() const;
};

// Nothing when the move is in the table (reference 2.1), else the error that names it.
std::optional<IllegalMove> check_move(leyline::Stage from, leyline::Stage to);

// GERMINATED to FOSSILIZED: there is a module in the slot.
bool holds_seed(leyline::Stage stage);
// GERMINATED to PROBATIONARY: the module is still on trial.
bool is_growing(leyline::Stage stage);

}  // namespace esper::kasmina
