#include "program/cache/package_entry.h"

#include <nlohmann/json.hpp>

#include "storage/checksum.h"

namespace esper::program {
namespace {

using nlohmann::json;

constexpr std::size_t kHashDigits = 16;

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

std::string entry_header(const std::string& key, const PackageFacts& facts, storage::Bytes package) {
  const std::string text = json{
      {"format", 1},
      {"key", key},
      {"bytes", package.size()},
      {"xxh3_64", storage::hex64(storage::hash64(package))},
      {"facts",
       to_json(facts)}}.dump();
  return storage::hex64(storage::hash64(storage::bytes_of(text))) + " " + text + "\n";
}

storage::Checked<PackageEntry> parse_entry(std::vector<std::byte> file) {
  using storage::damaged;
  const auto text = storage::text_of(file);
  const auto end = text.find('\n');
  if (end == std::string_view::npos || end < kHashDigits + 2) return damaged<PackageEntry>("it has no first line");
  const auto line = text.substr(kHashDigits + 1, end - kHashDigits - 1);
  if (text.substr(0, kHashDigits) != storage::hex64(storage::hash64(storage::bytes_of(line))) ||
      text[kHashDigits] != ' ') {
    return damaged<PackageEntry>("its first line is damaged");
  }
  PackageEntry entry;
  entry.package_at = end + 1;
  std::uint64_t bytes = 0;
  std::string hash;
  try {
    const json header = json::parse(line);
    if (header.at("format") != 1) return damaged<PackageEntry>("it has an unknown format");
    header.at("key").get_to(entry.key);
    header.at("bytes").get_to(bytes);
    header.at("xxh3_64").get_to(hash);
    entry.facts = facts_of(header.at("facts"));
  } catch (const json::exception& error) {
    return damaged<PackageEntry>(std::string("its first line cannot be read: ") + error.what());
  }
  entry.file = std::move(file);
  if (entry.package().size() != bytes) {
    return damaged<PackageEntry>("it holds " + std::to_string(entry.package().size()) + " bytes of a package of " +
                                 std::to_string(bytes));
  }
  if (storage::hex64(storage::hash64(entry.package())) != hash) return damaged<PackageEntry>("its hash is wrong");
  return storage::sound(std::move(entry));
}

}  // namespace esper::program
