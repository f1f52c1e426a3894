#pragma once
#include <filesystem>

namespace esper::data {

// The bundled digits: next to the installed binary, in the source tree, or under the current folder. Throws
// Error{kData} naming all that was tried.
std::filesystem::path find_digits();

}  // namespace esper::data
