#include "data/readers/npy_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "base/text/joined.h"
#include "data/files/byte_file.h"
#include "data/files/memory_need.h"
#include "data/files/npy_array.h"
#include "data/files/target_number.h"
#include "data/files/zip_archive.h"

namespace esper::data {
namespace fs = std::filesystem;
namespace {

using FindArray = std::function<std::optional<NpyArray>(const std::string& name)>;

bool is_channel_count(std::int64_t size) { return size == 1 || size == 3 || size == 4; }

bool channels_last(const NpyArray& x) {
  return x.sizes.size() == 4 && is_channel_count(x.sizes[3]) && !is_channel_count(x.sizes[1]);
}

// [H, W, C] -> [C, H, W] for each sample.
template <class T>
std::vector<T> channels_first(const std::vector<T>& values, std::int64_t pixels, std::int64_t channels) {
  std::vector<T> turned(values.size());
  const auto sample = static_cast<std::size_t>(pixels * channels);
  for (std::size_t begin = 0; begin < values.size(); begin += sample) {
    for (std::int64_t p = 0; p < pixels; ++p) {
      for (std::int64_t c = 0; c < channels; ++c) {
        turned[begin + static_cast<std::size_t>(c * pixels + p)] =
            values[begin + static_cast<std::size_t>(p * channels + c)];
      }
    }
  }
  return turned;
}

// Labels as numbers; -1 where there is no valid class.
std::vector<std::int64_t> labels_of(const NpyArray& y) {
  std::vector<std::int64_t> labels;
  labels.reserve(static_cast<std::size_t>(y.count()));
  for (const double value : npy_numbers(y)) {
    const bool valid = value >= 0 && value < static_cast<double>(kMaxClasses) && std::trunc(value) == value;
    labels.push_back(valid ? static_cast<std::int64_t>(value) : -1);
  }
  return labels;
}

template <class T>
std::span<const T> row(const std::vector<T>& rows, std::int64_t number, std::int64_t width) {
  return std::span(rows).subspan(static_cast<std::size_t>(number * width), static_cast<std::size_t>(width));
}

// Of a vector that holds none: nothing to do.
template <class T>
void move_row(std::vector<T>& rows, std::int64_t from, std::int64_t to, std::int64_t width) {
  if (rows.empty() || from == to) return;
  const auto begin = rows.begin() + from * width;
  std::copy(begin, begin + width, rows.begin() + to * width);
}

// Why the target of a sample is none; empty where it is one.
std::string problem_of_target(const RawSamples& samples, std::int64_t number, config::Task task) {
  const auto width = elements_of(samples.target_sizes);
  if (!has_number_targets(task)) {
    const auto labels = row(samples.labels, number, width);
    const bool good = std::all_of(labels.begin(), labels.end(), [](std::int64_t label) { return label >= 0; });
    return good ? "" : fmt::format("the class must be a whole number from 0, below {}", kMaxClasses);
  }
  for (const float value : row(samples.numbers, number, width)) {
    if (auto problem = target_problem(value, task); !problem.empty()) return problem;
  }
  return "";
}

struct Pair {
  const NpyArray& x;
  const NpyArray& y;
};

template <class T>
void keep_good(std::vector<T>& values, RawSamples& samples, const Pair& pair, config::Task task, BadSamples& bad) {
  const auto width = elements_of(samples.sizes), target_width = elements_of(samples.target_sizes);
  const auto count = samples_in(samples);
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto numbers = row(values, i, width);
    const auto place = fmt::format("sample {}", i);
    if (!std::all_of(numbers.begin(), numbers.end(), [](T v) { return std::isfinite(static_cast<float>(v)); })) {
      bad.report(pair.x.source, place, "holds a number that is not finite");
    } else if (const auto problem = problem_of_target(samples, i, task); !problem.empty()) {
      bad.report(pair.y.source, place, problem);
    } else {
      move_row(values, i, kept, width);
      move_row(samples.labels, i, kept, target_width);
      move_row(samples.numbers, i, kept, target_width);
      ++kept;
    }
  }
  const auto targets = static_cast<std::size_t>(kept * target_width);
  samples.labels.resize(samples.labels.empty() ? 0 : targets);
  samples.numbers.resize(samples.numbers.empty() ? 0 : targets);
  values.resize(static_cast<std::size_t>(kept * width));
}

template <class T>
void fill(RawSamples& samples, std::vector<T> values, const Pair& pair, config::Task task, BadSamples& bad) {
  if (channels_last(pair.x)) values = channels_first(values, pair.x.sizes[1] * pair.x.sizes[2], pair.x.sizes[3]);
  keep_good(values, samples, pair, task, bad);
  samples.values = std::move(values);
}

std::vector<std::int64_t> sample_sizes(const NpyArray& x) {
  if (channels_last(x)) return {x.sizes[3], x.sizes[1], x.sizes[2]};
  std::vector<std::int64_t> sizes(x.sizes.begin() + 1, x.sizes.end());
  if (sizes.size() == 2) sizes.insert(sizes.begin(), 1);
  return sizes;
}

// Sizes of one sample's target.
std::vector<std::int64_t> target_sizes(const NpyArray& y, const std::vector<std::int64_t>& sample, config::Task task) {
  const auto rank = y.sizes.size();
  const bool column = rank == 2 && y.sizes[1] == 1;
  if (has_number_targets(task)) {
    if (rank == 1) return {1};
    if (rank == 2 && y.sizes[1] >= 1 && y.sizes[1] <= kMaxClasses) return {y.sizes[1]};
    fail_input(y.source, "", "expected the numbers of each sample, [N] or [N, K]");
  }
  if (rank == 1 || column) return {};
  if (rank != 3 || sample.size() != 3) {
    fail_input(y.source, "",
               fmt::format("expected one class number per sample, not [{}]; rows of numbers are targets of task: "
                           "regression, or multilabel",
                           base::joined(y.sizes)));
  }
  if (y.sizes[1] == sample[1] && y.sizes[2] == sample[2]) return {y.sizes[1], y.sizes[2]};
  fail_input(y.source, "",
             fmt::format("a class for each of {} x {} pixels does not fit images of {} x {}", y.sizes[1], y.sizes[2],
                         sample[1], sample[2]));
}

// Numbers as the run keeps them, a second time while channels change places, and classes as doubles first.
void require_room(const NpyArray& x, const NpyArray& y, const ReadOptions& options) {
  const std::int64_t number = x.is_pixels() ? 1 : sizeof(float), copies = channels_last(x) ? 2 : 1;
  const std::int64_t label = sizeof(double) + sizeof(std::int64_t);
  require_memory(x.source, "its numbers", x.count() * number * copies + y.count() * label, options);
}

// That the array may be inputs, samples first.
void require_samples(const NpyArray& x) {
  const auto rank = x.sizes.size();
  if (rank < 2 || rank > 4) fail_input(x.source, "", fmt::format("has {} dimensions; expected 2 to 4", rank));
  if (x.count() == 0) fail_input(x.source, "", "holds no elements");
}

RawSamples pair_up(const NpyArray& x, const NpyArray& y, const ReadOptions& options, BadSamples& bad) {
  require_samples(x);
  RawSamples samples;
  samples.sizes = sample_sizes(x);
  samples.target_sizes = target_sizes(y, samples.sizes, options.task);
  if (y.sizes[0] != x.sizes[0]) {
    const auto* what = has_number_targets(options.task) ? "targets" : "classes";
    fail_input(y.source, "", fmt::format("{} {} for {} samples in {}", y.sizes[0], what, x.sizes[0], x.source));
  }
  require_room(x, y, options);
  if (has_number_targets(options.task)) {
    samples.numbers = npy_floats(y);
  } else {
    samples.labels = labels_of(y);
  }
  if (x.is_pixels()) {
    fill(samples, npy_pixels(x), {x, y}, options.task, bad);
  } else {
    fill(samples, npy_floats(x), {x, y}, options.task, bad);
  }
  return samples;
}

std::optional<RawSamples> find_pair(const FindArray& find, const std::string& x_name, const std::string& y_name,
                                    const ReadOptions& options, BadSamples& bad) {
  const auto x = find(x_name);
  if (!x) return std::nullopt;
  const auto y = find(y_name);
  if (!y) fail_input(x->source, "", "there is " + x_name + " but no " + y_name);
  return pair_up(*x, *y, options, bad);
}

struct Arrays {
  FindArray find;
  std::vector<std::string> names;  // of the files
};

Arrays arrays_of_folder(const fs::path& folder, const ReadOptions& options) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".npy") names.push_back(it->path().filename().string());
  }
  std::ranges::sort(names);
  auto find = [&folder, options](const std::string& name) -> std::optional<NpyArray> {
    const auto file = folder / (name + ".npy");
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return std::nullopt;
    return parse_npy(read_bytes_raw(file, options), file.string());
  };
  return {std::move(find), std::move(names)};
}

Arrays arrays_of_archive(const fs::path& file, const Bytes& archive, const ReadOptions& options) {
  auto members = list_zip(archive, file);
  std::vector<std::string> names;
  for (const auto& member : members) names.push_back(member.name);
  auto find = [&file, &archive, options,
               members = std::move(members)](const std::string& name) -> std::optional<NpyArray> {
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.name == name + ".npy"; });
    if (found == members.end()) return std::nullopt;
    return parse_npy(read_zip_member(archive, *found, options, file), file.string() + "/" + found->name);
  };
  return {std::move(find), std::move(names)};
}

std::string no_known_arrays(std::vector<std::string> names) {
  constexpr std::size_t kShown = 8;
  const std::string text = "holds no arrays x and y, inputs and targets, or x_train and y_train";
  if (names.empty()) return text;
  const bool more = names.size() > kShown;
  names.resize(std::min(names.size(), kShown));
  return text + "; it holds " + base::joined(names) + (more ? ", ..." : "");
}

// Beside x or inputs, x_test counts only where it is asked for.
RawParts pick_arrays(const fs::path& path, const Arrays& arrays, const ReadOptions& options, BadSamples& bad,
                     Parts wanted) {
  const auto& find = arrays.find;
  RawParts parts;
  if (wanted == Parts::kTest) {
    parts.test = find_pair(find, "x_test", "y_test", options, bad);
    return parts;
  }
  if (auto train = find_pair(find, "x_train", "y_train", options, bad)) {
    parts.train = std::move(*train);
    if (wanted == Parts::kAll) parts.test = find_pair(find, "x_test", "y_test", options, bad);
    return parts;
  }
  for (const auto& [x, y] : {std::pair{"x", "y"}, std::pair{"inputs", "targets"}}) {
    if (auto all = find_pair(find, x, y, options, bad)) return {.train = std::move(*all)};
  }
  fail_input(path, "", no_known_arrays(arrays.names));
}

}  // namespace

RawParts read_npy(const fs::path& path, const ReadOptions& options, BadSamples& bad, Parts wanted) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return pick_arrays(path, arrays_of_folder(path, options), options, bad, wanted);
  const auto archive = read_bytes_raw(path, options);
  if (archive.size() > 6 && archive[0] == 0x93) {
    fail_input(path, "", "is one array; give an .npz with x and y, or the folder of x.npy and y.npy");
  }
  return pick_arrays(path, arrays_of_archive(path, archive, options), options, bad, wanted);
}

RawSamples read_npy_inputs(const fs::path& file, const ReadOptions& options) {
  const auto x = parse_npy(read_bytes_raw(file, options), file.string());
  require_samples(x);
  const std::int64_t number = x.is_pixels() ? 1 : sizeof(float), copies = channels_last(x) ? 2 : 1;
  require_memory(x.source, "its numbers", x.count() * number * copies, options);
  RawSamples samples;
  samples.sizes = sample_sizes(x);
  if (x.is_pixels()) {
    samples.values =
        channels_last(x) ? channels_first(npy_pixels(x), x.sizes[1] * x.sizes[2], x.sizes[3]) : npy_pixels(x);
    return samples;
  }
  auto values = npy_floats(x);
  if (channels_last(x)) values = channels_first(values, x.sizes[1] * x.sizes[2], x.sizes[3]);
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad != values.end()) {
    const auto sample = (bad - values.begin()) / elements_of(samples.sizes);
    fail_input(file, fmt::format("sample {}", sample), "holds a number that is not finite");
  }
  samples.values = std::move(values);
  return samples;
}

}  // namespace esper::data
