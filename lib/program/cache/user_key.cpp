#include "program/cache/user_key.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

#include "program/cache/cache_folder.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"

namespace esper::program {
namespace {

using base::IoError;

constexpr char kName[] = "/cache.key";
constexpr char kTemporary[] = ".tmp-";
constexpr char kOtherState[] = "; set another state folder with XDG_STATE_HOME";

// The folder is this user's: he may remove what lies there, whoever made it.
base::Expected<crypto::MacKey> refused(const std::string& problem) {
  return base::failure(problem + "; remove it, and all programs are compiled again" + kOtherState);
}

// Those of makers that were killed, and of makers that are too late: of no use once the key is there.
void remove_temporaries(storage::ConfinedFileSystem& files, const std::string& folder) {
  const std::string prefix = std::string(kName + 1) + kTemporary;
  for (const auto& entry : files.list(folder)) {
    if (entry.name.starts_with(prefix)) storage::remove_all(files, folder + "/" + entry.name);
  }
}

// Another process may make one at the same time, under the same process id too (containers that share a home): the
// first that has the name keeps it.
void make_key(storage::ConfinedFileSystem& files, const std::string& folder) {
  const std::string temporary = folder + kName + kTemporary + crypto::hex_of(crypto::new_key()).substr(0, 16);
  auto file = files.open(temporary, base::OpenMode::kReplace);
  file.write(crypto::new_key());
  file.sync();
  file.close();
  try {
    files.rename_new(temporary, folder + kName);
  } catch (const IoError&) {  // EEXIST, or ENOENT where the other maker has removed the temporary file already
    storage::remove_all(files, temporary);
    if (files.kind_of(folder + kName) == base::PathKind::kNothing) throw;
  }
  remove_temporaries(files, folder);
  files.sync_folder(folder);
}

bool is_readable_by_others(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) < 0 || (status.st_mode & (S_IRGRP | S_IROTH)) != 0;
}

base::Expected<crypto::MacKey> read_key(storage::ConfinedFileSystem& files, const std::string& path) {
  crypto::MacKey key;
  const auto contents = storage::read_file(files, path, key.size());
  if (contents.size() != key.size()) return refused(path + " does not contain a key");
  std::copy(contents.begin(), contents.end(), key.begin());
  return key;
}

}  // namespace

base::Expected<crypto::MacKey> user_key() {
  const std::string wanted = esper_folder("XDG_STATE_HOME", "/.local/state");
  if (wanted.empty()) {
    return base::failure("HOME is not set, so there is no folder for the key of the program cache" +
                         std::string(kOtherState));
  }
  const auto folder = private_folder(wanted);
  if (!folder) return base::failure(folder.error() + kOtherState);
  storage::ConfinedFileSystem files(*folder, storage::Owner::kThisUser);
  try {
    const std::string path = *folder + kName;
    if (files.kind_of(path) == base::PathKind::kNothing) make_key(files, *folder);
    if (is_readable_by_others(path)) return refused(path + " is not secret: others can read it");
    return read_key(files, path);
  } catch (const storage::UnsafePath& error) {
    return refused(error.problem());
  } catch (const std::exception& error) {
    return base::failure(std::string("the key of the cache of compiled programs: ") + error.what() + kOtherState);
  }
}

}  // namespace esper::program
