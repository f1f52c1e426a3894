#include "config/yaml/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "base/text/printable.h"
#include "base/text/text_file.h"
#include "config/yaml/value_text.h"
#include "config/yaml/yaml_counts.h"
#include "config/yaml/yaml_encoding.h"
#include "config/yaml/yaml_tree.h"

namespace esper::config {

using base::in_quotes;
using base::Place;
using base::read_text_file;
using base::Streams;

namespace {

// The parser counts columns in bytes.
Place place_at(std::string_view text, const std::string& file, const YAML::Mark& mark) {
  const auto pos = static_cast<std::size_t>(std::max(mark.pos, 0)),
             column = static_cast<std::size_t>(std::max(mark.column, 0));
  const bool is_within = pos <= text.size() && column <= pos;
  const std::string_view before = is_within ? text.substr(pos - column, column) : std::string_view();
  const auto continued = std::ranges::count_if(before, [](char byte) { return (byte & 0xC0) == 0x80; });
  return {file, mark.line + 1, mark.column + 1 - static_cast<int>(continued)};
}

// Builds the tree from the parser's events.
class Events : public YAML::EventHandler {
 public:
  Events(std::string_view text, std::string file, YamlDocument& out)
      : text_(text), file_(std::move(file)), problems_(out.problems), tree_(out) {}

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
    counts_.add_alias(place);
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw YamlStop{place, "an alias refers to a value that contains it"};
    const YamlSize size = size_of(found->second);
    counts_.add_repeated(size, place);
    tree_.check_depth(size.levels, place);
    tree_.attach(found->second, place);
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
  Place place_of(const YAML::Mark& mark) const { return place_at(text_, file_, mark); }

  // The parser says "?" of values without a tag, and "!" of those in quotes.
  void check_tag(const std::string& tag, bool has_unnamed, const YAML::Mark& mark) {
    const bool is_named = tag != "?" && tag != "!" && !tag.empty();
    if (!is_named && !has_unnamed) return;
    const std::string shown = in_quotes(tag.empty() || tag == "?" ? "!" : tag);
    problems_.push_back({place_of(mark), "", "tags are not accepted; remove " + shown});
  }

  // yaml-cpp takes the end of the file for a closing quote, and everything before it for the text.
  void check_quotes(const YAML::Mark& mark) {
    const std::size_t at = value_start(text_, static_cast<std::size_t>(mark.pos)).at;
    if (has_open_quote(text_, at)) throw YamlStop{place_of(mark), "the quote is not closed in its line"};
  }

  YamlNode start(YamlNode::Kind kind, const YAML::Mark& mark) {
    YamlNode node;
    node.kind = kind;
    node.place = place_of(mark);
    counts_.add_node(node.place);
    return node;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    YamlNode node = start(kind, mark);
    check_tag(tag, tag == "!", mark);
    tree_.open(std::move(node));
    open_anchors_.push_back(anchor);
  }

  void close() {
    const YAML::anchor_t anchor = open_anchors_.back();
    open_anchors_.pop_back();
    finish(tree_.close(), anchor);
  }

  void finish(YamlNode node, YAML::anchor_t anchor) {
    const Place place = node.place;
    if (anchor != 0) {
      counts_.add_repeated(size_of(node), place);
      anchors_.insert_or_assign(anchor, node);
    }
    tree_.attach(std::move(node), place);
  }

  std::string_view text_;
  std::string file_;
  std::vector<base::Problem>& problems_;
  YamlCounts counts_;
  YamlTree tree_;
  std::vector<YAML::anchor_t> open_anchors_;  // of the tree's open lists and maps; 0: without
  std::map<YAML::anchor_t, YamlNode> anchors_;
};

void parse_into(std::string_view text, const std::string& file, YamlDocument& out) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  Events events(text, file, out);
  if (!parser.HandleNextDocument(events)) return;
  YamlDocument second;
  Events second_events(text, file, second);
  if (!parser.HandleNextDocument(second_events)) return;
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
  } catch (const YamlStop& stop) {
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
