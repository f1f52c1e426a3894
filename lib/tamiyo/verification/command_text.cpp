#include "tamiyo/verification/command_text.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/names.h"
#include "base/text/json_struct.h"
#include "base/text/printable.h"

namespace esper::tamiyo {

using leyline::AdaptationCommand;
using leyline::CommandSeedOperation;
using leyline::CommandType;
using leyline::SeedOperation;
using nlohmann::json;

namespace {

constexpr std::size_t kLongestText = 64 * 1024;

json operation_json(const CommandSeedOperation& it) {
  return {{"operation", base::name_of(it.operation)},
          {"slot", it.slot},
          {"blueprint_id", it.blueprint_id},
          {"parameters", it.parameters}};
}

// Thrown within this file: why a text is no command.
struct Malformed {
  std::string reason;
};

// The members of one object, each read once; finish() rejects those that nobody read.
class Members {
 public:
  Members(const json& object, const char* what) : object_(object), what_(what) {
    if (!object.is_object()) throw Malformed{fmt::format("{} is not an object", what_)};
  }

  const json& get(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) throw Malformed{fmt::format("{} has no {}", what_, name)};
    read_.insert(name);
    return *found;
  }
  std::string text(const char* name) {
    const auto& value = get(name);
    if (!value.is_string()) throw Malformed{fmt::format("{} of {} is not a text", name, what_)};
    return value.get<std::string>();
  }
  std::uint64_t count(const char* name) {
    const auto& value = get(name);
    if (!value.is_number_unsigned()) throw Malformed{fmt::format("{} of {} is not a whole number >= 0", name, what_)};
    return value.get<std::uint64_t>();
  }
  std::uint32_t small_count(const char* name) {
    const auto value = count(name);
    if (!std::in_range<std::uint32_t>(value)) throw Malformed{fmt::format("{} of {} is too large", name, what_)};
    return static_cast<std::uint32_t>(value);
  }
  void finish() const {
    for (const auto& [name, value] : object_.items()) {
      if (read_.contains(name)) continue;
      throw Malformed{fmt::format("{} has an unknown member {}", what_, base::in_quotes(base::shortened(name)))};
    }
  }

 private:
  const json& object_;
  const char* what_;
  std::set<std::string, std::less<>> read_;
};

CommandSeedOperation read_operation(const json& object) {
  Members members(object, "seed_operation");
  CommandSeedOperation it;
  const auto operation = base::from_name<SeedOperation>(members.text("operation"));
  if (!operation) throw Malformed{"its operation is unknown"};
  it.operation = *operation;
  it.slot = members.text("slot");
  it.blueprint_id = members.text("blueprint_id");
  const auto& parameters = members.get("parameters");
  if (!parameters.is_object()) throw Malformed{"its parameters are not an object"};
  for (const auto& [name, value] : parameters.items()) {
    if (!value.is_number()) throw Malformed{"a parameter is not a number"};
    it.parameters[name] = value.get<double>();
  }
  members.finish();
  return it;
}

AddressedCommand read_command(const json& object) {
  Members members(object, "the command");
  AddressedCommand read;
  auto& command = read.command;
  command.version = members.small_count("version");
  command.command_id = members.text("command_id");
  if (members.text("command_type") != "SEED") throw Malformed{"its command_type is not SEED"};
  command.command_type = CommandType::kSeed;
  command.target_seed_id = members.text("target_seed_id");
  command.execution_deadline_ms = members.small_count("execution_deadline_ms");
  command.issued_at_ns = members.count("issued_at_ns");
  command.issued_by = members.text("issued_by");
  command.seed_operation = read_operation(members.get("seed_operation"));
  const auto& annotations = members.get("annotations");
  if (!annotations.is_object()) throw Malformed{"its annotations are not an object"};
  for (const auto& [name, value] : annotations.items()) {
    if (!value.is_string()) throw Malformed{"an annotation is not a text"};
    command.annotations[name] = value.get<std::string>();
  }
  read.envelope = {members.count("sequence"), members.count("expires_at_ns")};
  members.finish();
  return read;
}

}  // namespace

std::string text_of(const AddressedCommand& addressed) {
  const auto& [it, envelope] = addressed;
  json object = {{"version", it.version},
                 {"command_id", it.command_id},
                 {"command_type", "SEED"},
                 {"target_seed_id", it.target_seed_id},
                 {"execution_deadline_ms", it.execution_deadline_ms},
                 {"issued_at_ns", it.issued_at_ns},
                 {"issued_by", it.issued_by},
                 {"annotations", it.annotations},
                 {"sequence", envelope.sequence},
                 {"expires_at_ns", envelope.expires_at_ns}};
  object["seed_operation"] = operation_json(it.seed_operation.value());
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

base::Expected<AddressedCommand> parse_command(std::string_view text) {
  const auto object = base::parse_json(text, kLongestText);
  if (!object) return base::failure(object.error());
  try {
    return read_command(*object);
  } catch (const Malformed& malformed) {
    return base::failure(malformed.reason);
  }
}

}  // namespace esper::tamiyo
