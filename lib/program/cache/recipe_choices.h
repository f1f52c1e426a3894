#pragma once
// Which recipe was fastest for a program when they were last compared. Best effort: a choice that is lost is measured
// again. Any thread, any number of processes.
//
//   FOLDER/KEY   JSON: the recipe, with the times measured

#include <map>
#include <optional>
#include <string>

#include "base/file_system.h"
#include "program/cache/change_lock.h"

namespace esper::program {

struct RecipeChoice {
  std::string recipe;
  std::map<std::string, double> step_us;  // of every recipe that was measured
};

class RecipeChoices {
 public:
  // Both outlive it.
  RecipeChoices(base::FileSystem& files, ChangeLock& lock, std::string folder)
      : files_(files), lock_(lock), folder_(std::move(folder)) {}

  // `key`: cache_key with an empty recipe.
  void remember(const std::string& key, const RecipeChoice& choice);
  std::optional<RecipeChoice> recall(const std::string& key);

 private:
  base::FileSystem& files_;
  ChangeLock& lock_;
  const std::string folder_;
};

}  // namespace esper::program
