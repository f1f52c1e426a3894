#pragma once
// A command as one line of JSON, and back. This text is what is signed and sent: the receiver verifies its bytes before
// it reads them, so no two programs need to write numbers alike. Pure functions.
//
//   {"annotations":{"reason":"..."},"command_id":"run-e3-1","command_type":"SEED","execution_deadline_ms":0,
//    "expires_at_ns":...,"issued_at_ns":...,"issued_by":"...","sequence":7,"target_seed_id":"",
//    "seed_operation":{"operation":"GERMINATE","slot":"r0c1","blueprint_id":"conv_light","parameters":{"alpha_ticks":2}},
//    "version":1}

#include <cstdint>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "leyline/command.h"

namespace esper::tamiyo {

// What a sender adds to a command.
struct Envelope {
  std::uint64_t sequence = 0;       // grows with each command of one sender, from 1 on
  std::uint64_t expires_at_ns = 0;  // wall clock, UNIX epoch
  bool operator==(const Envelope&) const = default;
};

struct AddressedCommand {
  leyline::AdaptationCommand command;
  Envelope envelope;
};

std::string text_of(const AddressedCommand& command);
// Fails with the reason for anything else than such an object: a member that is missing, of another type, unknown or
// there twice.
base::Expected<AddressedCommand> parse_command(std::string_view text);

}  // namespace esper::tamiyo
