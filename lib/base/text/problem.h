#pragma once
// A problem in a user's text, with its place.

#include <string>
#include <vector>

#include "base/error.h"

namespace esper::base {

// Lines and columns count from 1; 0 means the whole file. For a value from the command line, `file` is its text
// ("--set a.b=c").
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  bool operator==(const Place&) const = default;
};

// "run.yaml:3:9"
std::string to_string(const Place& place);

struct Problem {
  Place place;
  std::string path;  // of the field, dotted ("data.shape[1]"); empty where the text itself is broken
  std::string text;  // the problem and the remedy
};

// "run.yaml:3:9: data.batch_size: must be >= 1, but is 0"
std::string to_string(const Problem& problem);

// All problems of one configuration at once. Its text has one line for each.
class ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

// What the configuration asks for and this machine lacks: no mistake of the configuration. Its text is the problem's.
class MissingResource : public Error {
 public:
  explicit MissingResource(Problem problem);
  const Problem& problem() const { return problem_; }

 private:
  Problem problem_;
};

}  // namespace esper::base
