#pragma once
// Classes that a file names as it goes along. Not for several threads at once.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "data/files/raw_samples.h"

namespace esper::data {

// What is wrong with a number that is no class.
std::string not_a_class(std::string_view text);

class ClassNames {
 public:
  // A whole number ("1.0" is "1") or a name; the reason where it is neither.
  static base::Expected<std::string> checked(std::string_view text);

  // The number of a class in order of appearance. Throws Error{kData} naming `file` where there are too many.
  std::int64_t id_of(const std::string& name, const std::filesystem::path& file, const std::string& place);

  // Turns such numbers in samples.labels into labels: by value if all names are numbers, by bytes if not. Sets class
  // names and places.
  void finish(RawSamples& samples) const;

 private:
  struct Class {
    std::int64_t id;
    std::string place;
  };
  std::map<std::string, Class> classes_;  // sorted by bytes
};

}  // namespace esper::data
