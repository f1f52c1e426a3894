#include "data/readers/webdataset_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text/ascii.h"
#include "base/text/json_fields.h"
#include "base/text/json_struct.h"
#include "base/text/printable.h"
#include "data/files/class_names.h"
#include "data/files/csv_field.h"
#include "data/files/mapped_file.h"
#include "data/files/memory_need.h"
#include "data/files/npy_array.h"
#include "data/files/tar_archive.h"
#include "data/files/target_number.h"
#include "data/readers/image_folder.h"
#include "data/table/table_split.h"

namespace esper::data {
namespace fs = std::filesystem;
namespace {

using Content = std::span<const std::uint8_t>;
using Values = decltype(RawSamples::values);

std::vector<fs::path> shards_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> shards;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".tar") shards.push_back(it->path());
  }
  if (error) fail_input(path, "", "cannot be listed: " + error.message());
  if (shards.empty()) fail_input(path, "", "holds no .tar files");
  std::sort(shards.begin(), shards.end());
  return shards;
}

// Path and name up to the first dot of the name, and what follows it in small letters. No key: a hidden file.
struct MemberName {
  std::string key, extension;
};
MemberName split_name(const std::string& name) {
  const auto begin = name.rfind('/') == name.npos ? 0 : name.rfind('/') + 1;
  const auto dot = name.find('.', begin);
  if (dot == name.npos || dot == begin) return {};
  return {name.substr(0, dot), base::lower_case(name.substr(dot + 1))};
}

struct Sample {
  std::string place;                       // shard and key
  std::map<std::string, Content> members;  // by extension
  std::string problem = {};                // why it is none; empty: nothing is known against it
};

std::string_view text_of(Content content) {
  std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

// Fails with the reason for what is no array, or none of samples.
base::Expected<NpyArray> parse_array(Content content, const std::string& source) {
  try {
    auto array = parse_npy({content.begin(), content.end()}, source);
    const auto rank = array.sizes.size();
    if (rank >= 1 && rank <= 3 && array.count() > 0) return array;
    return base::failure("expected [features], [height, width] or [channels, height, width]");
  } catch (const base::Error& error) {
    // report() names the member again.
    return base::failure(std::string(error.what()).substr(source.size() + 2));
  }
}

// Adds nothing and returns false where a number is not finite.
bool append_finite(const NpyArray& array, Values& values) {
  const auto append = [](auto& all, const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
  if (auto* pixels = std::get_if<Bytes>(&values)) {
    append(*pixels, npy_pixels(array));
    return true;
  }
  const auto numbers = npy_floats(array);
  if (!std::ranges::all_of(numbers, [](float v) { return std::isfinite(v); })) return false;
  append(std::get<std::vector<float>>(values), numbers);
  return true;
}

class WebdatasetReader {
 public:
  WebdatasetReader(const config::DataConfig& config, const ReadOptions& options, BadSamples& bad)
      : config_(config), options_(options), bad_(bad) {}

  RawSamples read(const fs::path& path) {
    for (const auto& shard : shards_of(path)) add_shard(shard);
    if (list_.files.empty()) fail_input(path, "", "holds no samples; expected NAME.jpg, .png or .npy, and NAME.cls");
    auto& targets = list_.targets;
    if (has_number_targets(options_.task)) {
      targets.class_names = config_.columns.target;
      targets.target_sizes = {static_cast<std::int64_t>(std::max<std::size_t>(config_.columns.target.size(), 1))};
    } else {
      classes_.finish(targets);
    }
    return of_arrays_ ? read_arrays() : decode_images(list_, config_, options_, bad_);
  }

 private:
  void add_shard(const fs::path& file) {
    const auto& shard = shards_.emplace_back(std::make_unique<MappedFile>(file));
    Sample sample;
    std::string key;
    for (const auto& member : list_tar(shard->bytes(), file)) {
      const auto name = split_name(member.name);
      if (name.key.empty()) continue;
      if (name.key != key) {
        add(sample);
        key = name.key;
        sample = {(file / key).string(), {}, {}};
      }
      const auto content =
          shard->bytes().subspan(static_cast<std::size_t>(member.begin), static_cast<std::size_t>(member.size));
      if (!sample.members.emplace(name.extension, content).second)
        sample.problem = "." + name.extension + " occurs twice";
    }
    add(sample);
  }

  // One that is no sample leaves nothing behind.
  void add(const Sample& sample) {
    if (sample.members.empty()) return;
    if (!sample.problem.empty()) {
      bad_.report(sample.place, "", sample.problem);
      return;
    }
    const auto input = input_of(sample);
    if (input == sample.members.end()) {
      bad_.report(sample.place, "", "has no .jpg, .jpeg, .png or .npy");
      return;
    }
    const bool is_array = input->first == "npy";
    if (!list_.files.empty() && is_array != of_arrays_) {
      bad_.report(sample.place, "", "arrays and images cannot be mixed");
      return;
    }
    if (const auto taken = take_targets(sample); !taken) {
      bad_.report(sample.place, "", taken.error());
      return;
    }
    of_arrays_ = is_array;
    list_.files.emplace_back(sample.place + "." + input->first);
    list_.contents.push_back(input->second);
  }

  static std::map<std::string, Content>::const_iterator input_of(const Sample& sample) {
    for (const auto* extension : {"jpg", "jpeg", "png", "npy"}) {
      if (const auto found = sample.members.find(extension); found != sample.members.end()) return found;
    }
    return sample.members.end();
  }

  base::Expected<void> take_targets(const Sample& sample) {
    if (config_.columns.target.empty()) {
      const auto found = sample.members.find("cls");
      if (found == sample.members.end())
        return base::failure("has no .cls; data.columns.target names members of .json");
      return take_texts({std::string(text_of(found->second))}, sample.place);
    }
    const auto found = sample.members.find("json");
    if (found == sample.members.end()) return base::failure("has no .json, whose members data.columns.target names");
    constexpr std::size_t kLongestJson = 1 << 20;
    const auto document = base::parse_json(text_of(found->second), kLongestJson);
    if (!document) return base::failure("its .json: " + document.error());
    std::vector<std::string> texts;
    for (const auto& name : config_.columns.target) {
      const auto& value = base::member(*document, name);
      if (!value.is_number() && !value.is_string() && !value.is_boolean()) {
        return base::failure("its .json has no number or text " + base::in_quotes(name));
      }
      if (value.is_boolean()) {
        texts.emplace_back(value.get<bool>() ? "1" : "0");
      } else {
        texts.push_back(value.is_string() ? value.get<std::string>() : value.dump());
      }
    }
    return take_texts(texts, sample.place);
  }

  base::Expected<void> take_texts(const std::vector<std::string>& texts, const std::string& place) {
    if (!has_number_targets(options_.task)) {
      if (texts.size() > 1) fail_config("columns.target", "a classification has one target");
      const auto name = ClassNames::checked(texts[0]);
      if (!name) return base::failure(name.error());
      list_.targets.labels.push_back(classes_.id_of(*name, place, ""));
      return {};
    }
    std::vector<float> numbers;
    for (const auto& text : texts) {
      const auto value = number_of(text);
      if (!value) return base::failure("expected a number as the target, found " + base::in_quotes(text));
      if (auto problem = target_problem(*value, options_.task); !problem.empty()) return base::failure(problem);
      numbers.push_back(static_cast<float>(*value));
    }
    list_.targets.numbers.insert(list_.targets.numbers.end(), numbers.begin(), numbers.end());
    return {};
  }

  // All of one shape, and all pixels or none; [H, W] is an image of one channel.
  RawSamples read_arrays() {
    Values values;
    std::vector<std::int64_t> sizes, kept;
    for (std::size_t i = 0; i < list_.files.size(); ++i) {
      const auto source = list_.files[i].string();
      const auto parsed = parse_array(list_.contents[i], source);
      if (!parsed) {
        bad_.report(source, "", parsed.error());
        continue;
      }
      const auto& array = *parsed;
      if (kept.empty()) {
        begin_arrays(array, values);
        sizes = array.sizes;
      }
      if (array.sizes != sizes) {
        bad_.report(source, "", "has another shape than the first array");
      } else if (array.is_pixels() != std::holds_alternative<Bytes>(values)) {
        bad_.report(source, "",
                    array.is_pixels() ? "holds pixels (uint8), the first array numbers"
                                      : "holds numbers, the first array pixels (uint8)");
      } else if (!append_finite(array, values)) {
        bad_.report(source, "", "holds a number that is not finite");
      } else {
        kept.push_back(static_cast<std::int64_t>(i));
      }
    }
    auto samples = chosen_targets(list_.targets, kept);
    if (sizes.size() == 2) sizes.insert(sizes.begin(), 1);
    samples.sizes = sizes;
    samples.values = std::move(values);
    return samples;
  }

  void begin_arrays(const NpyArray& first, Values& values) const {
    const std::int64_t number = first.is_pixels() ? 1 : sizeof(float);
    const auto bytes = checked_product({first.count(), static_cast<std::int64_t>(list_.files.size()), number});
    if (!bytes) fail_input(first.source, "", "the arrays need more bytes than fit into 64 bits");
    require_memory(first.source, "this and the other arrays", *bytes, options_);
    values = first.is_pixels() ? Values(Bytes()) : Values(std::vector<float>());
    std::visit([&](auto& all) { all.reserve(static_cast<std::size_t>(*bytes / number)); }, values);
  }

  const config::DataConfig& config_;
  const ReadOptions& options_;
  BadSamples& bad_;
  std::vector<std::unique_ptr<MappedFile>> shards_;  // which the list's contents lie in
  ImageList list_;
  bool of_arrays_ = false;
  ClassNames classes_;
};

}  // namespace

RawSamples read_webdataset(const fs::path& path, const config::DataConfig& config, const ReadOptions& options,
                           BadSamples& bad) {
  return WebdatasetReader(config, options, bad).read(path);
}

}  // namespace esper::data
