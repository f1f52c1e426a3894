#pragma once
// The secret that clients of the loopback port must show. Any thread.

#include <string>

namespace esper::jobs {

// What the file holds; a missing one is made with mode 0600 and 32 random bytes in hexadecimal digits, whole or not at
// all. Throws base::Error{kConfig} where the file belongs to another user, others may read it, or its text is no
// token (16 to 256 letters, digits, '-', '_', '.', '~'); base::IoError where it cannot be read or made.
std::string token_of(const std::string& path);

}  // namespace esper::jobs
