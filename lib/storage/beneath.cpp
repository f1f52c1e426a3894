#include "storage/beneath.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/expected.h"
#include "storage/posix_files.h"

namespace esper::storage {
namespace {

using base::Descriptor;
using base::IoError;

// What the user can do about it himself, before the last resort of another folder.
enum class Cure { kRemove, kCloseOrRemove, kNone };

std::string way_out(Owner owner, Cure cure, Use use) {
  if (owner == Owner::kAnyone) {
    const std::string wanted = use == Use::kEnter    ? "folder"
                               : use == Use::kLookAt ? "regular file or folder"
                                                     : "regular file";
    return "move or remove it, or put a " + wanted + " of this user in its place";
  }
  const std::string other_folder = "set another cache folder with --cache-dir or ESPER_CACHE";
  if (cure == Cure::kNone) return other_folder;
  return (cure == Cure::kRemove ? "remove it, or " : "chmod go-w or remove it, or ") + other_folder;
}

// That it is of a kind that will do.
base::Expected<void> check_kind(mode_t mode, Use use) {
  if (S_ISLNK(mode)) return base::failure("it is a symbolic link, and links are not followed here");
  const bool as_folder = use == Use::kEnter, as_file = use == Use::kRead || use == Use::kWrite;
  if ((S_ISREG(mode) && !as_folder) || (S_ISDIR(mode) && !as_file)) return {};
  const char* kind = S_ISREG(mode)    ? "a regular file"
                     : S_ISDIR(mode)  ? "a folder"
                     : S_ISFIFO(mode) ? "a pipe"
                     : S_ISSOCK(mode) ? "a socket"
                                      : "a device";
  return base::failure(fmt::format("it is {}, not {}", kind, as_folder ? "a folder" : "a regular file"));
}

struct OwnerProblem {
  const char* text;
  Cure cure;
};

// That nobody but this user has a say in it.
base::Expected<void, OwnerProblem> check_owner(const struct stat& status) {
  const auto failure = [](const char* text, Cure cure) { return base::failure(OwnerProblem{text, cure}); };
  // In your own folder one may remove another's file, but not empty his folder.
  if (status.st_uid != ::geteuid()) {
    return failure("it belongs to another user", S_ISDIR(status.st_mode) ? Cure::kNone : Cure::kRemove);
  }
  if ((status.st_mode & S_IWOTH) != 0) return failure("others can write to it", Cure::kCloseOrRemove);
  if ((status.st_mode & S_IWGRP) != 0) return failure("a group can write to it", Cure::kCloseOrRemove);
  if (S_ISREG(status.st_mode) && status.st_nlink > 1)
    return failure("it has several names (hard links)", Cure::kRemove);
  return {};
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Cuts the first name off `rest`, and the slashes around it.
std::string next_name(std::string& rest) {
  const auto begin = rest.find_first_not_of('/');
  if (begin == std::string::npos) return rest.clear(), std::string();
  const auto end = rest.find('/', begin);
  std::string name = rest.substr(begin, end - begin);
  rest = end == std::string::npos ? "" : rest.substr(end);
  if (rest.find_first_not_of('/') == std::string::npos) rest.clear();
  return name;
}

}  // namespace

UnsafePath::UnsafePath(const std::string& path, const std::string& problem, const std::string& way_out)
    : IoError(base::ExitCode::kConfig, path + " cannot be used: " + problem + "; " + way_out, path, ELOOP),
      problem_(path + " cannot be used: " + problem) {}

Beneath::Beneath(std::string root, Owner owner) : root_(without_trailing_slashes(std::move(root))), owner_(owner) {}

std::optional<std::string> Beneath::inside(const std::string& path) const {
  if (without_trailing_slashes(path) == root_) return "";
  const std::string prefix = root_ == "/" ? root_ : root_ + "/";
  if (!path.starts_with(prefix)) return std::nullopt;
  return path.substr(prefix.size());
}

void Beneath::check(const struct stat& status, const std::string& path, Use use) const {
  const std::string remove = way_out(owner_, Cure::kRemove, use);
  if (const auto kind = check_kind(status.st_mode, use); !kind) throw UnsafePath(path, kind.error(), remove);
  if (owner_ == Owner::kThisUser) {
    if (const auto owned = check_owner(status); !owned) {
      throw UnsafePath(path, owned.error().text, way_out(owner_, owned.error().cure, use));
    }
  } else if (use == Use::kWrite && S_ISREG(status.st_mode) && status.st_nlink > 1) {
    throw UnsafePath(path, "it has several names (hard links), and a write would change all of them", remove);
  }
}

void Beneath::refuse_way_out_of_root(const std::string& path) const {
  throw UnsafePath(path, "it leads outside " + root_, way_out(owner_, Cure::kRemove, Use::kLookAt));
}

Descriptor Beneath::open_root() const {
  Descriptor folder(retried([&] { return ::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!folder.is_open()) throw IoError("open folder", root_, errno);
  return folder;
}

// The folder `name` in `folder`; `path` is its own.
Descriptor Beneath::enter(const Descriptor& folder, const std::string& name, const std::string& path) const {
  if (name == "..") refuse_way_out_of_root(path);
  Descriptor entered(
      retried([&] { return ::openat(folder.number(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
  const int error_number = errno;
  struct stat status{};
  if (!entered.is_open()) {
    const bool is_there = ::fstatat(folder.number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && !S_ISREG(status.st_mode)) check(status, path, Use::kEnter);  // below a file nothing is
    throw IoError("open folder", path, error_number);
  }
  if (::fstat(entered.number(), &status) < 0) throw IoError("stat", path, errno);
  check(status, path, Use::kEnter);
  return entered;
}

Beneath::Place Beneath::place_of(const std::string& path) const {
  auto rest = inside(path);
  ESPER_CHECK(rest, "a path below the folder");
  Place place{open_root(), {}};
  std::string walked = root_;
  for (std::string name = next_name(*rest); !name.empty(); name = next_name(*rest)) {
    walked += "/" + name;
    if (rest->empty()) {
      if (name == "..") refuse_way_out_of_root(path);
      place.name = name;
    } else {
      place.folder = enter(place.folder, name, walked);
    }
  }
  return place;
}

Descriptor Beneath::open_folder(const std::string& path) const {
  Place place = place_of(path);
  if (place.name.empty()) return std::move(place.folder);
  struct stat status{};
  if (::fstatat(place.folder.number(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    check(status, path, Use::kEnter);
  }
  const Descriptor entered = enter(place.folder, place.name, path);
  Descriptor readable(retried([&] { return ::openat(entered.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!readable.is_open()) throw IoError("open folder", path, errno);
  return readable;
}

std::optional<struct stat> Beneath::status_of(const std::string& path) const {
  const Place place = place_of(path);
  struct stat status{};
  const int result = place.name.empty()
                         ? ::fstat(place.folder.number(), &status)
                         : ::fstatat(place.folder.number(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
  if (result < 0) {
    if (errno == ENOENT) return std::nullopt;
    throw IoError("stat", path, errno);
  }
  check(status, path, Use::kLookAt);
  return status;
}

// O_NONBLOCK: a pipe is not waited for. It changes nothing for a regular file.
Descriptor Beneath::open_at(const Descriptor& folder, const std::string& name, const std::string& path,
                            int flags) const {
  const mode_t mode = owner_ == Owner::kThisUser ? 0600 : 0666;
  const int always = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  const auto open = [&](int extra) {
    return Descriptor(
        retried([&] { return ::openat(folder.number(), name.c_str(), (flags & ~O_CREAT) | always | extra, mode); }));
  };
  if ((flags & O_CREAT) == 0) return open(0);
  Descriptor made = open(O_CREAT | O_EXCL);
  if (!made.is_open() && errno == EEXIST) return open(0);
  if (made.is_open() && owner_ == Owner::kThisUser && ::fchmod(made.number(), mode) < 0) {
    throw IoError("set the mode of", path, errno);
  }
  return made;
}

Descriptor Beneath::open_file(const std::string& path, int flags) const {
  const Place place = place_of(path);
  if (place.name.empty()) throw IoError("open", path, EISDIR);
  return open_file(place.folder, place.name, path, flags);
}

Descriptor Beneath::open_file(const Descriptor& folder, const std::string& name, const std::string& path,
                              int flags) const {
  const Use use = (flags & O_ACCMODE) == O_RDONLY ? Use::kRead : Use::kWrite;
  struct stat status{};
  // Before it is opened: opening a device may change it.
  if (::fstatat(folder.number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) check(status, path, use);
  // Another process may remove the file between the two ways of opening it.
  constexpr int kTries = 10;
  Descriptor file;
  for (int i = 0; i < kTries && !file.is_open(); ++i) {
    file = open_at(folder, name, path, flags & ~O_TRUNC);
    if (!file.is_open() && (errno != ENOENT || (flags & O_CREAT) == 0)) break;
  }
  if (!file.is_open()) throw IoError("open", path, errno);
  if (::fstat(file.number(), &status) < 0) throw IoError("stat", path, errno);
  check(status, path, use);
  if ((flags & O_TRUNC) != 0 && ::ftruncate(file.number(), 0) < 0) throw IoError("truncate", path, errno);
  return file;
}

void Beneath::make_folder(const std::string& path) const {
  const Place place = place_of(path);
  const mode_t mode = owner_ == Owner::kThisUser ? 0700 : 0777;
  if (place.name.empty() || ::mkdirat(place.folder.number(), place.name.c_str(), mode) < 0) {
    const int error_number = place.name.empty() ? EEXIST : errno;
    if (error_number == EEXIST) status_of(path);  // says what may not be there
    throw IoError("make folder", path, error_number);
  }
  if (owner_ == Owner::kThisUser && ::fchmodat(place.folder.number(), place.name.c_str(), mode, 0) < 0) {
    throw IoError("set the mode of", path, errno);
  }
}

}  // namespace esper::storage
