#include "config/facts/exported_host.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/names.h"
#include "base/text/json_fields.h"
#include "base/text/pattern.h"
#include "base/text/text_file.h"

namespace esper::config {
namespace {

using leyline::FeatureKind;
using leyline::FeatureShape;
using nlohmann::json;

constexpr std::size_t kMostBytes = 64u << 20;
constexpr int kFormat = 1;
constexpr std::int64_t kMostSize = 1 << 30;

std::vector<std::int64_t> sizes_of(const json& written) {
  auto sizes = base::wholes_of<std::int64_t>(written);
  const bool in_range = std::ranges::all_of(sizes, [](auto size) { return size >= 1 && size <= kMostSize; });
  if (!in_range) throw std::out_of_range("a size is not a positive number");
  return sizes;
}

FeatureShape shape_of(const json& site) {
  const auto sizes = sizes_of(site.at("shape"));
  const auto kind = base::from_name<FeatureKind>(site.at("kind").get<std::string>());
  constexpr std::string_view kUncopied = "blocks of an imported network are not copied";
  if (kind == FeatureKind::kFeatures && sizes.size() == 1) {
    return {.kind = *kind, .channels = sizes[0], .uncopied = kUncopied};
  }
  if (kind == FeatureKind::kSequence && sizes.size() == 2) {
    return {.kind = *kind, .channels = sizes[1], .tokens = sizes[0], .uncopied = kUncopied};
  }
  if (kind == FeatureKind::kImage && sizes.size() == 3) {
    return {.kind = *kind, .channels = sizes[0], .height = sizes[1], .width = sizes[2], .uncopied = kUncopied};
  }
  throw std::out_of_range("a site's shape does not fit its kind");
}

ExportedSite::Cut cut_of(const json& written) {
  return {base::whole_of<std::int32_t>(written.at(0)), base::whole_of<std::size_t>(written.at(1))};
}

ExportedSite site_of(const json& written) {
  return {written.at("path").get<std::string>(),
          written.at("also").get<std::vector<std::string>>(),
          shape_of(written),
          written.at("auto").get<bool>(),
          written.at("taken_by").get<std::string>(),
          cut_of(written.at("train")),
          cut_of(written.at("evaluate"))};
}

ExportedHost host_of(const json& document) {
  if (base::whole_at<int>(document, "format") != kFormat) throw std::out_of_range("it has another format");
  ExportedHost host;
  host.source = document.at("source").get<std::string>();
  host.input = sizes_of(document.at("input").at("sizes"));
  host.example = document.at("input").value("example", "");
  host.takes_tokens = document.at("input").at("dtype").get<std::string>() == "int64";
  host.output = sizes_of(document.at("output"));
  if (host.output.empty()) throw std::out_of_range("its outputs have no dimension besides the batch's");
  host.parameters = document.at("parameters").get<std::vector<std::string>>();
  host.frozen = document.at("frozen").get<std::vector<std::string>>();
  for (const json& site : document.at("sites")) host.sites.push_back(site_of(site));
  return host;
}

}  // namespace

base::Expected<ExportedHost> read_exported_host(const std::string& folder) {
  const std::string path = folder + "/" + kExportedHostFile;
  const auto text = base::read_text_file(path, kMostBytes, base::Streams::kRefused);
  if (!text) {
    return base::failure(path + " " + text.error() +
                         "; name a folder that `esper import MODULE.py:NAME --example SHAPE --out FOLDER` wrote");
  }
  const json document = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  try {
    if (!document.is_object()) throw std::out_of_range("it is not a JSON object");
    return host_of(document);
  } catch (const std::exception& error) {
    return base::failure(path + " is not what `esper import` writes: " + base::plain_reason(error) +
                         "; import the model again");
  }
}

bool names_site(const ExportedSite& site, const std::string& text) {
  if (text == "auto") return site.is_block;
  constexpr std::string_view kOut = ".out";
  const std::string_view pattern =
      text.ends_with(kOut) ? std::string_view(text).substr(0, text.size() - kOut.size()) : std::string_view(text);
  const auto names = [&](const std::string& path) {
    const bool any_depth = pattern.find("**") != pattern.npos;
    const bool is_as_deep = std::ranges::count(path, '.') == std::ranges::count(pattern, '.');
    return (any_depth || is_as_deep) && base::fits_pattern(path, pattern);
  };
  return names(site.path) || std::ranges::any_of(site.also, names);
}

std::vector<ExportedSite> named_sites(const ExportedHost& host, const std::vector<std::string>& slots) {
  std::vector<ExportedSite> named;
  for (const ExportedSite& site : host.sites) {
    const bool is_named =
        slots.empty() ? site.is_block
                      : std::ranges::any_of(slots, [&](const std::string& text) { return names_site(site, text); });
    if (is_named) named.push_back(site);
  }
  return named;
}

}  // namespace esper::config
