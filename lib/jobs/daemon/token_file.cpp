#include "jobs/daemon/token_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file_system.h"
#include "base/text/ascii.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::jobs {
namespace {

constexpr std::size_t kSecretBytes = 32, kFewestCharacters = 16, kMostCharacters = 256;

std::string new_token() {
  std::array<unsigned char, kSecretBytes> secret{};
  // The kernel gives up to 256 bytes at once or fails.
  if (::getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size()))
    throw base::IoError("read", "the system's random numbers", errno);
  std::string text;
  for (const unsigned char byte : secret) text += fmt::format("{:02x}", byte);
  return text;
}

void write_token(const std::string& path, const std::string& temporary) {
  // Of a process with this number that was killed here.
  ::unlink(temporary.c_str());
  const base::Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) throw base::IoError("make", temporary, errno);
  const std::string text = new_token() + "\n";
  if (::write(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.number()) < 0)
    throw base::IoError("write", temporary, errno);
  // A daemon of another state folder may have made it meanwhile: its token counts.
  if (::link(temporary.c_str(), path.c_str()) < 0 && errno != EEXIST) throw base::IoError("make", path, errno);
}

// Not with storage/atomic_publish.h: no one else may open the file even while it is being written, whatever the umask.
void make_token(const std::string& path) {
  const std::string temporary = fmt::format("{}.tmp-{}", path, ::getpid());
  storage::ensure_folder(storage::real_file_system(), storage::parent_of(path));
  try {
    write_token(path, temporary);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  ::unlink(temporary.c_str());
  storage::real_file_system().sync_folder(storage::parent_of(path));
}

bool is_token_character(char c) { return base::is_alphanumeric_or(c, "-_.~"); }

std::string read_token(int file, const std::string& path) {
  std::array<char, kMostCharacters + 2> text{};
  const auto got = ::read(file, text.data(), text.size());
  if (got < 0) throw base::IoError("read", path, errno);
  std::string token(text.data(), static_cast<std::size_t>(got));
  if (token.ends_with('\n')) token.pop_back();
  if (token.size() < kFewestCharacters || token.size() > kMostCharacters ||
      !std::ranges::all_of(token, is_token_character)) {
    throw base::Error(base::ExitCode::kConfig, path +
                                                   ": holds no token (one line of 16 to 256 letters, digits, '-', '_', "
                                                   "'.' or '~'); remove the file, and a new one is made");
  }
  return token;
}

}  // namespace

std::string token_of(const std::string& path) {
  auto& files = storage::real_file_system();
  if (files.kind_of(path) == base::PathKind::kNothing) make_token(path);
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open()) throw base::IoError("open", path, errno);
  struct stat facts{};
  if (::fstat(file.number(), &facts) < 0) throw base::IoError("read", path, errno);
  if (!S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid() || (facts.st_mode & 0077) != 0) {
    throw base::Error(
        base::ExitCode::kConfig,
        fmt::format("{}: must be a file of this user that nobody else may read: chmod 600 {}", path, path));
  }
  return read_token(file.number(), path);
}

}  // namespace esper::jobs
