#pragma once
// Samples without targets, from the files that a user wants predictions of. One thread.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/preprocessing.h"

namespace esper::data {

struct NewSamples {
  Dataset set;                          // each target is 0
  std::vector<std::string> files;       // of each sample
  std::vector<std::int64_t> positions;  // of each sample in its file, from 0
};

// Reads them in portions, each as the training of `like` read its samples: an image (.png, .jpg, .jpeg) is resized, an
// array (.npy) has the samples first, a table (.csv, .csv.gz) has a row for each. A folder stands for the images in it
// and in its folders, in the order of their names.
class NewSampleFiles {
 public:
  // Throws Error{kData} where there is no such file or folder, a folder holds no images, or a file is of a kind that
  // the network cannot take.
  NewSampleFiles(const std::vector<std::string>& inputs, const Preprocessing& like);

  std::size_t num_files() const { return files_.size(); }
  std::size_t files_read() const { return next_; }

  // The next files' samples; nothing at the end. Throws Error{kData} naming each of these files that cannot be used.
  std::optional<NewSamples> next();

 private:
  const Preprocessing& like_;
  std::vector<std::filesystem::path> files_;
  std::size_t next_ = 0;
};

}  // namespace esper::data
