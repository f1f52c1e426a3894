#include "porting/exporter.h"

#include "porting_exporter.h"

namespace esper::porting {

std::string_view exporter_program() { return kExporter; }

}  // namespace esper::porting
