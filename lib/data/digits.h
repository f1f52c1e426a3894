#pragma once
#include <filesystem>

namespace esper::data {

// The digits that come with Esper: beside the installed binary, in the source tree, or under the current folder. Throws
// Error{kData} naming all that was tried.
std::filesystem::path find_digits();

}  // namespace esper::data
