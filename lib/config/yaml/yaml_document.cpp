#include "config/yaml/yaml_document.h"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "base/text/printable.h"
#include "base/text/text_file.h"
#include "config/yaml/value_text.h"
#include "config/yaml/yaml_encoding.h"

namespace esper::config {

using base::in_quotes;
using base::Place;
using base::read_text_file;
using base::Streams;

namespace {

// Thrown by the builder through the parser: nothing after this place can be read.
struct Stop {
  Place place;
  std::string text;
};

struct NodeSize {
  int nodes = 1;
  std::size_t levels = 0;  // of nesting
  std::size_t bytes = 0;   // of text
};

NodeSize size_of(const YamlNode& node) {
  NodeSize size{.bytes = node.text.size()};
  const auto add = [&](const YamlNode& inner, std::size_t key_bytes) {
    const NodeSize part = size_of(inner);
    size.nodes += part.nodes;
    size.levels = std::max(size.levels, part.levels + 1);
    size.bytes += part.bytes + key_bytes;
  };
  for (const YamlNode& item : node.items) add(item, 0);
  for (const YamlEntry& entry : node.entries) add(entry.value, entry.key.size());
  return size;
}

// The parser counts columns in bytes.
Place place_at(std::string_view text, const std::string& file, const YAML::Mark& mark) {
  const auto pos = static_cast<std::size_t>(std::max(mark.pos, 0)),
             column = static_cast<std::size_t>(std::max(mark.column, 0));
  const bool is_within = pos <= text.size() && column <= pos;
  const std::string_view before = is_within ? text.substr(pos - column, column) : std::string_view();
  const auto continued = std::ranges::count_if(before, [](char byte) { return (byte & 0xC0) == 0x80; });
  return {file, mark.line + 1, mark.column + 1 - static_cast<int>(continued)};
}

// Builds the tree from the parser's events, so that limits hold while reading and not only afterwards.
class Builder : public YAML::EventHandler {
 public:
  static constexpr const char* kTooDeep = "nested deeper than 64 levels";

  Builder(std::string_view text, std::string file, YamlDocument& out)
      : text_(text), file_(std::move(file)), out_(out) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    finish(start(YamlNode::Kind::kNull, mark), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = start(YamlNode::Kind::kScalar, mark);
    check_tag(tag, value_start(text_, static_cast<std::size_t>(mark.pos)).have_tag, mark);
    check_quotes(mark);
    node.text = value;
    node.style = tag == "!" ? YamlNode::Style::kQuoted : YamlNode::Style::kPlain;
    finish(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Place place = place_of(mark);
    if (++aliases_ > YamlLimits::kAliases) throw Stop{place, "more than 100 aliases"};
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Stop{place, "an alias refers to a value that contains it"};
    const NodeSize size = size_of(found->second);
    repeat(size, place);
    if (stack_.size() + size.levels > YamlLimits::kDepth) throw Stop{place, kTooDeep};
    attach(found->second, place);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YamlNode node;
    YAML::anchor_t anchor;
    bool has_key = false;
    std::string key;
    Place key_place;
    std::unordered_map<std::string, int> lines;  // of keys seen so far
  };

  Place place_of(const YAML::Mark& mark) const { return place_at(text_, file_, mark); }
  void report(const Place& place, std::string text) { out_.problems.push_back({place, "", std::move(text)}); }

  void count(int nodes, const Place& place) {
    nodes_ += nodes;
    if (nodes_ > YamlLimits::kNodes) throw Stop{place, "more than 10000 values, repeated ones included"};
  }

  // An anchored value is kept beside the tree, and an alias repeats it.
  void repeat(const NodeSize& size, const Place& place) {
    count(size.nodes, place);
    repeated_bytes_ += size.bytes;
    if (repeated_bytes_ > YamlLimits::kRepeatedBytes) throw Stop{place, "anchors and aliases repeat more than 4 MiB"};
  }

  // The parser says "?" of values without a tag, and "!" of those in quotes.
  void check_tag(const std::string& tag, bool has_unnamed, const YAML::Mark& mark) {
    const bool is_named = tag != "?" && tag != "!" && !tag.empty();
    if (!is_named && !has_unnamed) return;
    report(place_of(mark), "tags are not accepted; remove " + in_quotes(tag.empty() || tag == "?" ? "!" : tag));
  }

  // yaml-cpp takes the end of the file for a closing quote, and everything before it for the text.
  void check_quotes(const YAML::Mark& mark) {
    const std::size_t at = value_start(text_, static_cast<std::size_t>(mark.pos)).at;
    if (has_open_quote(text_, at)) throw Stop{place_of(mark), "the quote is not closed in its line"};
  }

  YamlNode start(YamlNode::Kind kind, const YAML::Mark& mark) {
    YamlNode node;
    node.kind = kind;
    node.place = place_of(mark);
    count(1, node.place);
    return node;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    YamlNode node = start(kind, mark);
    check_tag(tag, tag == "!", mark);
    if (stack_.size() >= YamlLimits::kDepth) throw Stop{node.place, kTooDeep};
    if (expects_key()) throw Stop{node.place, "expected a key, found a list or a map; is every bracket closed?"};
    stack_.push_back(Frame{std::move(node), anchor, false, {}, {}, {}});
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    finish(std::move(frame.node), frame.anchor);
  }

  void finish(YamlNode node, YAML::anchor_t anchor) {
    const Place place = node.place;
    if (anchor != 0) {
      repeat(size_of(node), place);
      anchors_.insert_or_assign(anchor, node);
    }
    attach(std::move(node), place);
  }

  bool expects_key() const {
    return !stack_.empty() && stack_.back().node.kind == YamlNode::Kind::kMap && !stack_.back().has_key;
  }

  void attach(YamlNode node, const Place& place) {
    if (stack_.empty()) {
      out_.root = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.kind == YamlNode::Kind::kList) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.has_key) {
      take_key(frame, node, place);
    } else {
      take_value(frame, std::move(node));
    }
  }

  void take_key(Frame& frame, const YamlNode& node, const Place& place) {
    if (node.kind != YamlNode::Kind::kScalar) throw Stop{place, "a key must be plain text"};
    frame.has_key = true;
    frame.key = node.text;
    frame.key_place = place;
  }

  void take_value(Frame& frame, YamlNode node) {
    frame.has_key = false;
    // The parser places an absent value where the next thing starts, lines below its key.
    if (node.kind == YamlNode::Kind::kNull) node.place = frame.key_place;
    if (frame.key == "<<") return report(frame.key_place, "merge keys (<<) are not accepted; write the keys out");
    const auto [seen, is_new] = frame.lines.emplace(frame.key, frame.key_place.line);
    if (!is_new) {
      return report(frame.key_place, fmt::format("duplicate key {}; it is given in line {} already",
                                                 in_quotes(frame.key), seen->second));
    }
    frame.node.entries.push_back({frame.key, frame.key_place, std::move(node)});
  }

  std::string_view text_;
  std::string file_;
  YamlDocument& out_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  int nodes_ = 0;
  std::size_t repeated_bytes_ = 0;
  int aliases_ = 0;
};

void parse_into(std::string_view text, const std::string& file, YamlDocument& out) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  Builder builder(text, file, out);
  if (!parser.HandleNextDocument(builder)) return;
  YamlDocument second;
  Builder second_builder(text, file, second);
  if (!parser.HandleNextDocument(second_builder)) return;
  out.problems.push_back({second.root.place, "",
                          "a second document (after ---) is not accepted; nor is an indentation that ends the first"});
}

}  // namespace

YamlDocument parse_yaml(std::string_view text, const std::string& file) {
  YamlDocument out;
  out.root.place = {file, 1, 1};
  if (auto problem = unfit_for_yaml(text, file)) {
    out.problems.push_back(std::move(*problem));
    return out;
  }
  try {
    parse_into(text, file, out);
  } catch (const Stop& stop) {
    out.problems.push_back({stop.place, "", stop.text});
  } catch (const YAML::Exception& error) {
    out.problems.push_back({place_at(text, file, error.mark), "", "not YAML: " + error.msg});
  }
  return out;
}

YamlDocument read_yaml(const std::string& path) {
  const auto file = read_text_file(path, YamlLimits::kBytes, Streams::kOfThisProcess);
  if (file) return parse_yaml(*file, path);
  YamlDocument out;
  out.root.place = {path, 0, 0};
  out.problems.push_back({out.root.place, "", file.error()});
  return out;
}

}  // namespace esper::config
