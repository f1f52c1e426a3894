#pragma once
#include "base/descriptor.h"
#include "base/text/timed_write.h"

namespace esper::nissa {

using base::Descriptor;
using base::write_all;

}  // namespace esper::nissa
