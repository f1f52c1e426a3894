#pragma once
// Paths below one folder, walked so that nothing which lies there leads out of it: each folder on the way is opened
// from the one above it, symbolic links are refused, and only regular files and folders are opened. Pipes and devices
// are refused without waiting for them. Any thread.

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/file_system.h"

namespace esper::storage {

// The permitted owner of files below the folder.
enum class Owner {
  // A run folder: it may have been copied from elsewhere. A file with several names (hard links) is read, and not
  // written to: the change would appear under its other names too.
  kAnyone,
  // The cache: files and folders belong to this user, no other user can write to them, and no file has several names.
  // What is made there has mode 0600 or 0700, whatever the umask.
  kThisUser,
};

// What lies there is no file or folder that may be used. ExitCode::kConfig; the text names the path, what is wrong with
// it and the remedy.
class UnsafePath : public base::IoError {
 public:
  // problem: as it follows "PATH cannot be used: ".
  UnsafePath(const std::string& path, const std::string& problem, const std::string& way_out);
  // The text without the remedy, for callers with a better one.
  const std::string& problem() const { return problem_; }

 private:
  std::string problem_;
};

// What a path is opened for.
enum class Use { kEnter, kLookAt, kRead, kWrite };

class Beneath {
 public:
  // Opens nothing yet. `root` is the user's own word: links in it are followed.
  Beneath(std::string root, Owner owner);

  const std::string& root() const { return root_; }
  Owner owner() const { return owner_; }

  // The part of `path` below the root, empty for the root itself; nothing for a path that lies elsewhere.
  std::optional<std::string> inside(const std::string& path) const;

  // Below, `path` is one for which inside() gives a value. All throw IoError, and UnsafePath where the path passes what
  // may not be there.
  struct Place {
    base::Descriptor folder;
    std::string name;  // empty: `path` is the root, which is `folder`
  };
  // The folder that `path` lies in, and its name there.
  Place place_of(const std::string& path) const;
  base::Descriptor open_folder(const std::string& path) const;
  // `flags` as for open(2); O_CREAT makes the file where there is none.
  base::Descriptor open_file(const std::string& path, int flags) const;
  // The same where the folder that it lies in is open already, by its name there.
  base::Descriptor open_file(const base::Descriptor& folder, const std::string& name, const std::string& path,
                             int flags) const;
  void make_folder(const std::string& path) const;
  // Of `path` itself, which may not be a link; nothing where there is nothing.
  std::optional<struct stat> status_of(const std::string& path) const;

 private:
  base::Descriptor open_root() const;
  base::Descriptor enter(const base::Descriptor& folder, const std::string& name, const std::string& path) const;
  base::Descriptor open_at(const base::Descriptor& folder, const std::string& name, const std::string& path,
                           int flags) const;
  void check(const struct stat& status, const std::string& path, Use use) const;
  [[noreturn]] void refuse_way_out_of_root(const std::string& path) const;

  std::string root_;
  Owner owner_;
};

}  // namespace esper::storage
