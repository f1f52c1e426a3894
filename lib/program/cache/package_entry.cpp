#include "program/cache/package_entry.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/json_fields.h"

namespace esper::program {
namespace {

using nlohmann::json;

constexpr std::size_t kMacDigits = 64;

json to_json(const PackageFacts& facts) {
  return {{"recipe", facts.recipe},     {"effort", facts.effort},         {"torch_version", facts.torch_version},
          {"compiler", facts.compiler}, {"compile_ms", facts.compile_ms}, {"created", facts.created}};
}

PackageFacts facts_of(const json& fields) {
  PackageFacts facts;
  fields.at("recipe").get_to(facts.recipe);
  fields.at("effort").get_to(facts.effort);
  fields.at("torch_version").get_to(facts.torch_version);
  fields.at("compiler").get_to(facts.compiler);
  fields.at("compile_ms").get_to(facts.compile_ms);
  fields.at("created").get_to(facts.created);
  return facts;
}

}  // namespace

std::string PackageEntry::mac() const { return std::string(storage::text_of(file).substr(0, kMacDigits)); }

bool has_effort(const PackageFacts& facts, CompileEffort effort) { return facts.effort == base::name_of(effort); }

std::string entry_header(const std::string& key, const PackageFacts& facts, storage::Bytes package,
                         const crypto::MacKey& mac_key) {
  const json fields = {{"format", 2}, {"key", key}, {"bytes", package.size()}, {"facts", to_json(facts)}};
  std::string line = fields.dump();
  line.insert(line.begin(), ' ');
  line.push_back('\n');
  return crypto::mac_of(mac_key, storage::bytes_of(line), package).append(line);
}

// What the file says is believed only once its code is found to be right.
base::Expected<PackageEntry> parse_entry(std::vector<std::byte> file, const crypto::MacKey& mac_key) {
  const auto text = storage::text_of(file);
  const auto end = text.find('\n');
  if (end == std::string_view::npos || end < kMacDigits + 2) return base::failure("it has no first line");
  const auto rest = storage::Bytes(file).subspan(kMacDigits);
  if (!crypto::is_same_mac(text.substr(0, kMacDigits), crypto::mac_of(mac_key, rest, {}))) {
    return base::failure("its authentication code is invalid: it is damaged, or was made with another key");
  }
  const auto line = text.substr(kMacDigits, end - kMacDigits);
  PackageEntry entry;
  entry.package_at = end + 1;
  std::uint64_t bytes = 0;
  try {
    const json header = json::parse(line);
    if (header.at("format") != 2) return base::failure("it has an unknown format");
    header.at("key").get_to(entry.key);
    bytes = base::whole_at<std::uint64_t>(header, "bytes");
    entry.facts = facts_of(header.at("facts"));
  } catch (const json::exception& error) {
    return base::failure("its first line cannot be read: " + base::plain_reason(error));
  }
  entry.file = std::move(file);
  if (entry.package().size() != bytes) {
    return base::failure(fmt::format("it holds {} bytes of a package of {}", entry.package().size(), bytes));
  }
  return entry;
}

}  // namespace esper::program
