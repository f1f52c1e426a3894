#pragma once
// The JSON file that a command writes after long work.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "esper/output.h"

namespace esper {

// Throws Error{kConfig} where no regular file can be made, or replaced, there: before hours of training rather than
// after them.
void refuse_unwritable(const std::string& file);
// Writes the document to the file (none: an empty name) and prints it, or text with `print_text`: each whether or not
// the other succeeds, as the result took hours. Returns 0, or the exit code where the file could not be written: stderr
// says why, and so does the member "error" of what is printed as JSON. Throws what printing throws.
int write_and_print(const std::string& file, nlohmann::ordered_json document, Format format,
                    const std::function<void()>& print_text);

}  // namespace esper
