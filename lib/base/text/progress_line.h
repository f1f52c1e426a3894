#pragma once
// What a command is doing, on standard error: one line that is drawn again and again where that is a terminal. Any
// thread.

#include <string>

namespace esper::base {

bool is_progress_drawn();  // standard error is a terminal

// Draws the text in place of the one before; elsewhere prints "COMMAND: TEXT" as a line of its own.
void show_progress(const std::string& command, const std::string& text);
// Before anything else is printed: takes the line away.
void end_progress();

}  // namespace esper::base
