#pragma once
// Between a seed's number in its run, from 1, and its id. Any thread.

#include <cstdint>
#include <string>

namespace esper::leyline {

// "seed-0007"; more than four digits where the number has them.
std::string seed_id_of(std::uint32_t number);

// 7 for "seed-0007"; 0 for every text that seed_id_of() does not give, "seed-7" and "seed-0007x" too.
std::uint32_t number_of_seed(const std::string& seed_id);

}  // namespace esper::leyline
