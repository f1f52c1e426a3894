#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {

void add_doctor(Front& front) {
  CLI::App* command = add_command(front.root, "doctor", "Check what a run depends on: libtorch, device, disk, Python",
                                  "esper doctor --json");
  const auto request = std::make_shared<DoctorRequest>();
  add_json_flag(*command, request->json);
  command->callback([&front, request] { front.run = [request] { return run_in_engine(*request); }; });
}

}  // namespace esper
