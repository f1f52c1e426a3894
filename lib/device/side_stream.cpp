#include "device/side_stream.h"

#include <map>
#include <mutex>
#include <utility>

#include "device/cuda_table.h"

namespace esper::device {

c10::Stream side_stream(c10::Device device, SideStream purpose) {
  static std::mutex mutex;
  static std::map<std::pair<SideStream, c10::DeviceIndex>, c10::Stream> streams;
  const std::lock_guard lock(mutex);
  const std::pair key(purpose, device.index());
  const auto known = streams.find(key);
  if (known != streams.end()) return known->second;
  return streams.emplace(key, cuda().side_stream(device.index())).first->second;
}

}  // namespace esper::device
