#include "program/cache/recipe_choices.h"

#include <nlohmann/json.hpp>

#include "storage/atomic_publish.h"
#include "storage/bytes.h"
#include "storage/file_tools.h"

namespace esper::program {
namespace {

constexpr std::uint64_t kMaxChoiceBytes = 1u << 20;

}  // namespace

void RecipeChoices::remember(const std::string& key, const RecipeChoice& choice) {
  const nlohmann::json fields = {{"recipe", choice.recipe}, {"step_us", choice.step_us}};
  const std::string text = fields.dump() + "\n";
  try {
    storage::ensure_folder(files_, folder_);
    const auto held = lock_.take();
    if (held) storage::publish_file(files_, folder_ + "/" + key, storage::bytes_of(text));
  } catch (const base::IoError&) {
  }
}

std::optional<RecipeChoice> RecipeChoices::recall(const std::string& key) {
  try {
    const auto contents = storage::read_file(files_, folder_ + "/" + key, kMaxChoiceBytes);
    const auto fields = nlohmann::json::parse(storage::text_of(contents));
    return RecipeChoice{fields.at("recipe"), fields.at("step_us")};
  } catch (const base::IoError&) {
  } catch (const nlohmann::json::exception&) {  // damaged: the recipes are compared again, and the file is replaced
  }
  return std::nullopt;
}

}  // namespace esper::program
