#pragma once
// The JSON file that a command writes after long work.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace esper {

// Throws Error{kConfig} where no regular file can be made, or replaced, there: before hours of training rather than
// after them.
void refuse_unwritable(const std::string& file);
// Throws IoError.
void write_output_file(const std::string& file, const nlohmann::ordered_json& document);

}  // namespace esper
