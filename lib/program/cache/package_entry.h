#pragma once
// The file format of one cached package: a first line "<MAC of all that follows> <JSON>\n", then the package's bytes.
// The JSON has the key and size of the package and what is known about it. No byte can change undetected, and nobody
// without the user's key can make an entry that is loaded; one file, so that it is replaced and removed in one step.
// Any thread.

#include <string>
#include <vector>

#include "base/expected.h"
#include "crypto/mac.h"
#include "program/cache/compile_effort.h"
#include "storage/bytes.h"

namespace esper::program {

// About how a package came to be.
struct PackageFacts {
  std::string recipe;         // named function of the worker
  std::string effort;         // quick | full
  std::string torch_version;  // of the worker
  std::string compiler;       // for wrapper and kernels, as the worker says
  double compile_ms = 0;
  std::string created;  // RFC 3339
};

bool has_effort(const PackageFacts& facts, CompileEffort effort);

struct PackageEntry {
  std::string key;
  PackageFacts facts;
  std::vector<std::byte> file;  // the whole entry
  std::size_t package_at = 0;   // where the package begins in it

  storage::Bytes package() const { return storage::Bytes(file).subspan(package_at); }
  // Its authentication code: another package of the same key has another one.
  std::string mac() const;
};

std::string entry_header(const std::string& key, const PackageFacts& facts, storage::Bytes package,
                         const crypto::MacKey& mac_key);

// Every damage is reported as text.
base::Expected<PackageEntry> parse_entry(std::vector<std::byte> file, const crypto::MacKey& mac_key);

}  // namespace esper::program
