#pragma once
// What a measurement is doing, on standard error: one line drawn again and again where that is a terminal, elsewhere a
// plain line for each phase and each quarter of the rounds.

#include <string>

namespace esper::engine::bench {

void show_phase(const std::string& text);
// After each round.
void show_rounds(int done, int total);
// Call before other output: clears the terminal's line. Any thread.
void end_progress();

}  // namespace esper::engine::bench
