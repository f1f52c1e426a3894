#pragma once
#include "leyline/descriptor.h"
#include "leyline/timed_write.h"

namespace esper::nissa {

using leyline::Descriptor;
using leyline::write_all;

}  // namespace esper::nissa
