#include "tamiyo/network/provenance.h"

#include <fmt/core.h>

#include "base/text/json_struct.h"

namespace esper::tamiyo {

using base::json_member;

namespace {

constexpr std::size_t kMostProvenance = 4 << 20;  // bytes

}  // namespace

constexpr auto json_members(const SourceRun*) {
  using S = SourceRun;
  return std::tuple{json_member("name", &S::name), json_member("digest", &S::digest), json_member("part", &S::part),
                    json_member("decisions", &S::decisions), json_member("germinations", &S::germinations)};
}

constexpr auto json_members(const Provenance*) {
  using P = Provenance;
  return std::tuple{json_member("version", &P::version),   json_member("method", &P::method),
                    json_member("teacher", &P::teacher),   json_member("command", &P::command),
                    json_member("date", &P::date),         json_member("esper", &P::esper),
                    json_member("settings", &P::settings), json_member("runs", &P::runs),
                    json_member("training", &P::training), json_member("held_out", &P::held_out)};
}

std::string provenance_text(const Provenance& provenance) { return base::json_line(base::to_json(provenance)); }

base::Expected<Provenance> read_provenance(const std::string& text) {
  const auto document = base::parse_json(text, kMostProvenance);
  if (!document) return base::failure(document.error());
  auto provenance = base::from_json<Provenance>(*document);
  if (provenance && provenance->version != Provenance().version) {
    return base::failure(fmt::format("version: {} is not {}, the one that this program reads", provenance->version,
                                     Provenance().version));
  }
  return provenance;
}

}  // namespace esper::tamiyo
