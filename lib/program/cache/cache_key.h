#pragma once
// What a compiled program depends on, as one name. Any thread.

#include <string>

namespace esper::program {

// Raise it when a recipe or the worker's way of compiling changes what comes out: packages made before are then not
// found any more and age out.
inline constexpr int kRecipeSetVersion = 7;

struct KeyParts {
  std::string program;          // its text
  std::string torch_version;    // "2.11.0+cu130"
  std::string device;           // "cpu", or kind and model of the accelerator
  std::string instruction_set;  // cpu_instruction_set()
  int threads = 1;              // Inductor bakes the number in
  std::string mode;             // default | reduce-overhead | max-autotune
  std::string recipe;           // empty: the key of a choice among recipes (RecipeChoices)
  std::string numerics{};       // torch's settings that the code depends on; may be empty
};

// 32 lower-case hexadecimal digits.
std::string cache_key(const KeyParts& parts);

// Vendor, model and feature flags of the first processor, as the kernel names them; "unknown" where it names none.
std::string cpu_instruction_set();

// 32 hexadecimal digits in lower case.
bool is_cache_key(const std::string& text);

}  // namespace esper::program
