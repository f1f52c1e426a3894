#pragma once
// The JSON file that a command writes after long work.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace esper {

// Throws Error{kConfig} where no regular file can be made, or replaced, there: before hours of training rather than
// after them.
void refuse_unwritable(const std::string& file);
// Writes the file (none: an empty name) and prints, each whether or not the other succeeds: the result took hours.
// Throws IoError, or what `print` throws.
void write_and_print(const std::string& file, const nlohmann::ordered_json& document,
                     const std::function<void()>& print);

}  // namespace esper
