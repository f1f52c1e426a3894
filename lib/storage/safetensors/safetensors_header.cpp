#include "storage/safetensors/safetensors_header.h"

#include <fmt/core.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace esper::storage {
namespace {

using nlohmann::json;

// A name out of a hostile file, short enough for a message.
std::string shown(const std::string& name) {
  constexpr std::size_t kLongest = 80;
  const std::string part = name.size() > kLongest ? name.substr(0, kLongest) + "..." : name;
  return json(part).dump(-1, ' ', true, json::error_handler_t::replace);
}

// Receives the parser's events and accepts exactly the shape of a header. Events instead of a document, because a
// document keeps one of two equal keys without a word, and grows with whatever nesting the file holds.
class HeaderEvents {
 public:
  SafetensorsHeader header;
  std::string problem;

  bool null() { return refuse("an unexpected null"); }
  bool boolean(bool) { return refuse("an unexpected boolean"); }
  bool binary(json::binary_t&) { return refuse("unexpected binary data"); }
  bool number_integer(json::number_integer_t) { return refuse("a negative number"); }
  bool number_float(json::number_float_t, const std::string&) {
    return refuse("a number that is not a 63-bit integer");
  }

  bool number_unsigned(json::number_unsigned_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return refuse("a number that is not a 63-bit integer");
    }
    if (at_ == At::kShape) {
      if (tensor().shape.size() == kMaxRank) return refuse("over 64 dimensions in tensor " + shown(tensor().name));
      tensor().shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (at_ == At::kOffsets && tensor().offsets.size() < 2) {
      tensor().offsets.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    return refuse("an unexpected number");
  }

  bool string(json::string_t& value) {
    if (at_ == At::kMetadata) {
      header.metadata[metadata_key_] = std::move(value);
      return true;
    }
    if (at_ != At::kDtype) return refuse("an unexpected string");
    const auto dtype = dtype_from_name(value);
    if (!dtype) return refuse("the unknown type " + shown(value) + " for tensor " + shown(tensor().name));
    tensor().dtype = *dtype;
    at_ = At::kTensor;
    return true;
  }

  bool start_object(std::size_t) {
    if (at_ == At::kStart) return go(At::kTop);
    if (at_ == At::kMetadataValue) return go(At::kMetadata);
    if (at_ == At::kTensorValue) return go(At::kTensor);
    return refuse("an unexpected object");
  }

  bool key(json::string_t& name) {
    switch (at_) {
      case At::kTop:
        return top_key(name);
      case At::kTensor:
        return tensor_key(name);
      default:  // kMetadata: the parser gives keys only inside of objects
        if (header.metadata.contains(name)) return refuse("metadata key " + shown(name) + " twice");
        metadata_key_ = std::move(name);
        return true;
    }
  }

  bool end_object() {
    if (at_ == At::kTensor && (!seen_.dtype || !seen_.shape || tensor().offsets.size() != 2)) {
      return refuse("tensor " + shown(tensor().name) + " without dtype, shape or its two data_offsets");
    }
    return go(at_ == At::kTop ? At::kEnd : At::kTop);
  }

  bool start_array(std::size_t) {
    if (at_ == At::kShapeValue) return go(At::kShape);
    if (at_ == At::kOffsetsValue) return go(At::kOffsets);
    return refuse("an unexpected list");
  }

  bool end_array() { return go(At::kTensor); }

  // The parser's own text is left out: it quotes the bytes that it could not read.
  bool parse_error(std::size_t position, const std::string&, const json::exception&) {
    return refuse(fmt::format("something that is not JSON in UTF-8, at byte {}", position));
  }

 private:
  enum class At {
    kStart,
    kTop,
    kTensorValue,
    kTensor,
    kDtype,
    kShapeValue,
    kShape,
    kOffsetsValue,
    kOffsets,
    kMetadataValue,
    kMetadata,
    kEnd
  };
  struct Seen {
    bool dtype = false;
    bool shape = false;
    bool offsets = false;
  };

  bool refuse(std::string reason) {
    problem = "the header holds " + std::move(reason);
    return false;
  }

  bool go(At next) {
    at_ = next;
    return true;
  }

  HeaderTensor& tensor() { return header.tensors.back(); }

  bool top_key(const std::string& name) {
    if (!names_.insert(name).second) return refuse("key " + shown(name) + " twice");
    if (name == kMetadataKey) return go(At::kMetadataValue);
    header.tensors.push_back({name, {}, {}, {}});
    seen_ = {};
    return go(At::kTensorValue);
  }

  bool tensor_key(const std::string& name) {
    if (name == "dtype") return field(seen_.dtype, At::kDtype);
    if (name == "shape") return field(seen_.shape, At::kShapeValue);
    if (name == "data_offsets") return field(seen_.offsets, At::kOffsetsValue);
    return refuse("the unknown field " + shown(name) + " in tensor " + shown(tensor().name));
  }

  bool field(bool& seen, At next) {
    if (seen) return refuse("tensor " + shown(tensor().name) + " with a duplicate field");
    seen = true;
    return go(next);
  }

  At at_ = At::kStart;
  Seen seen_;
  std::string metadata_key_;
  std::unordered_set<std::string> names_;
};

}  // namespace

base::Expected<SafetensorsHeader, ReadFailure> parse_safetensors_header(std::string_view text) {
  if (!text.starts_with('{')) return damaged("the header does not start with '{'");
  // The parser takes a zero byte for the end of its input and would not see what follows.
  if (text.find('\0') != std::string_view::npos) return damaged("the header contains a zero byte");
  HeaderEvents events;
  if (!json::sax_parse(text, &events)) return damaged(std::move(events.problem));
  return std::move(events.header);
}

}  // namespace esper::storage
