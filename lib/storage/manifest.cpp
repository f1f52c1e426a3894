#include "storage/manifest.h"

#include <fmt/core.h>

#include <string_view>

#include "base/text/json_fields.h"
#include "storage/checksum.h"

namespace esper::storage {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr std::string_view kChecksumKey = "{\"checksum\":\"";
constexpr std::string_view kAfterChecksum = "\",";
constexpr std::size_t kHexDigits = 16;
constexpr std::size_t kPrefixBytes = kChecksumKey.size() + kHexDigits + kAfterChecksum.size();

std::string prefix_for(std::string_view body) {
  return std::string(kChecksumKey) + hex64(hash64(bytes_of(body))) + std::string(kAfterChecksum);
}

std::vector<ManifestFile> files_from(const json& list) {
  std::vector<ManifestFile> files;
  for (const auto& entry : list) {
    files.push_back({entry.at("name").get<std::string>(), base::whole_at<std::uint64_t>(entry, "bytes"),
                     entry.at("xxh3_64").get<std::string>()});
  }
  return files;
}

}  // namespace

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

std::string manifest_text(const Manifest& manifest) {
  json files = json::array();
  for (const auto& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3_64", file.xxh3_64}});
  }
  const json whole = {{"fields", manifest.fields}, {"files", std::move(files)}, {"format", kFormat}};
  const std::string body = whole.dump().substr(1) + "\n";
  return prefix_for(body) + body;
}

base::Expected<Manifest, ReadFailure> parse_manifest(const std::string& text) {
  const std::string body = text.size() > kPrefixBytes ? text.substr(kPrefixBytes) : std::string();
  if (body.empty() || !text.starts_with(prefix_for(body))) {
    return damaged("manifest.json is damaged: its checksum does not match its contents");
  }
  try {
    const json whole = json::parse("{" + body);
    if (whole.at("format") != kFormat) {
      return unreadable(
          fmt::format("manifest.json has format {}; this program reads format {}", whole.at("format").dump(), kFormat));
    }
    Manifest manifest{files_from(whole.at("files")), whole.at("fields")};
    for (const auto& file : manifest.files) {
      if (!is_plain_name(file.name)) return unreadable("manifest.json lists a file that is not in its folder");
    }
    return manifest;
  } catch (const json::exception& error) {
    return unreadable("manifest.json is not a manifest: " + base::plain_reason(error));
  }
}

}  // namespace esper::storage
