#pragma once
// manifest.json: the list of what a published folder holds, and the caller's own fields. The text begins with a
// checksum of everything after it, so that no byte of it can change unseen:
//   {"checksum":"<16 hex digits>","fields":{...},"files":[{"bytes":3,"name":"a","xxh3_64":"<16 hex
//   digits>"}],"format":1}
// Any thread.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "storage/read_failure.h"

namespace esper::storage {

inline constexpr char kManifestName[] = "manifest.json";
inline constexpr std::uint64_t kMaxManifestBytes = 64ull << 20;

struct ManifestFile {
  std::string name;  // plain: no folder in it
  std::uint64_t bytes;
  std::string xxh3_64;  // hex64
};

struct Manifest {
  std::vector<ManifestFile> files;
  nlohmann::json fields = nlohmann::json::object();
};

// True for a name that stays inside its folder: not empty, no '/', not "." or "..", no NUL.
bool is_plain_name(const std::string& name);

std::string manifest_text(const Manifest& manifest);

// Checks checksum and shape; the files themselves are not read. Where the checksum is right and the format or
// shape is another one, it is unreadable.
base::Expected<Manifest, ReadFailure> parse_manifest(const std::string& text);

}  // namespace esper::storage
