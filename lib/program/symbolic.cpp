#include "program/symbolic.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace esper::program {
namespace {

using Part = NumberPlace::Part;
using Form = SizeExpression::Form;
using Number = std::variant<std::int64_t, double>;

// Where the number that ends a name begins; its length where none does. Only what to_string would write again.
std::size_t number_in(const std::string& name) {
  constexpr std::size_t kMostDigits = 18;
  const std::size_t begin = name.find_last_not_of("0123456789") + 1;
  const std::size_t digits = name.size() - begin;
  const bool plain = digits > 0 && digits <= kMostDigits && (digits == 1 || name[begin] != '0');
  return plain && begin > 0 && name[begin - 1] == '.' ? begin : name.size();
}

// visit(place, number&) for each number of the program, in a fixed order.
template <class Visit>
void visit_numbers(Program& program, const Visit& visit) {
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    std::string& name = program.inputs[i].name;
    const std::size_t begin = number_in(name);
    if (begin == name.size()) continue;
    std::int64_t number = std::stoll(name.substr(begin));
    visit(NumberPlace{Part::kInputName, i}, number);
    name = fmt::format("{}{}", name.substr(0, begin), number);
  }
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    TensorType& type = program.values[i];
    for (std::size_t k = 0; k < type.sizes.size(); ++k) visit(NumberPlace{Part::kSize, i, 0, k}, type.sizes[k]);
    for (std::size_t k = 0; k < type.strides.size(); ++k) visit(NumberPlace{Part::kStride, i, 0, k}, type.strides[k]);
  }
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    auto& arguments = program.operations[i].arguments;
    for (std::size_t a = 0; a < arguments.size(); ++a) {
      const auto visit_all = [&](auto& list) {
        for (std::size_t k = 0; k < list.size(); ++k) visit(NumberPlace{Part::kArgument, i, a, k}, list[k]);
      };
      if (auto* whole = std::get_if<std::int64_t>(&arguments[a])) visit(NumberPlace{Part::kArgument, i, a}, *whole);
      if (auto* real = std::get_if<double>(&arguments[a])) visit(NumberPlace{Part::kArgument, i, a}, *real);
      if (auto* wholes = std::get_if<std::vector<std::int64_t>>(&arguments[a])) visit_all(*wholes);
      if (auto* reals = std::get_if<std::vector<double>>(&arguments[a])) visit_all(*reals);
    }
  }
}

// A recording taken apart: programs with equal forms have their numbers at the same places.
struct TakenApart {
  std::int64_t n = 0;
  Program form;  // all numbers are 0
  std::vector<NumberPlace> places;
  std::vector<Number> numbers;
};

TakenApart take_apart(const SizedRecording& recording) {
  TakenApart parts;
  parts.n = recording.n;
  parts.form = recording.program;
  visit_numbers(parts.form, [&](const NumberPlace& place, auto& number) {
    parts.places.push_back(place);
    parts.numbers.emplace_back(number);
    number = 0;
  });
  return parts;
}

base::Expected<void> check_same_form(const TakenApart& a, const TakenApart& b) {
  if (a.form == b.form) return {};
  const std::string sizes = fmt::format("at batch sizes {} and {}", a.n, b.n);
  const auto &left = a.form.operations, &right = b.form.operations;
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    const std::string where = fmt::format("operation {}", i);
    if (left[i].name != right[i].name) {
      return base::failure(fmt::format("{} differs {}: {}, {}", where, sizes, left[i].name, right[i].name));
    }
    if (left[i] != right[i]) {
      return base::failure(fmt::format("{}, {}, works on other values {}", where, left[i].name, sizes));
    }
  }
  if (left.size() != right.size()) {
    return base::failure(fmt::format("the step has {} and {} operations {}", left.size(), right.size(), sizes));
  }
  return base::failure("the step has other inputs or values " + sizes);
}

using Points = std::vector<std::pair<std::int64_t, Number>>;  // n and the number then

// The line through whole numbers; none where they are on none.
template <class Whole>
std::optional<SizeExpression> line_through(const Points& points, Form form, const Whole& whole) {
  const auto [n0, n1] = std::pair{points[0].first, points[1].first};
  const std::optional<std::int64_t> v0 = whole(points[0].second), v1 = whole(points[1].second);
  if (!v0 || !v1 || (*v1 - *v0) % (n1 - n0) != 0) return std::nullopt;
  SizeExpression line{form, (*v1 - *v0) / (n1 - n0), 0};
  line.offset = *v0 - line.factor * n0;
  return line;
}

std::optional<std::int64_t> whole_of(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!(std::abs(value) < kExact) || value != std::nearbyint(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

bool goes_through(const SizeExpression& line, const Points& points) {
  return std::ranges::all_of(points, [&](const auto& point) {
    const auto& [n, number] = point;
    if (const auto* whole = std::get_if<std::int64_t>(&number)) return *whole == line.whole_at(n);
    return std::bit_cast<std::uint64_t>(std::get<double>(number)) == std::bit_cast<std::uint64_t>(line.real_at(n));
  });
}

std::optional<SizeExpression> expression_of(const Points& points) {
  std::vector<std::optional<SizeExpression>> candidates;
  if (std::holds_alternative<std::int64_t>(points.front().second)) {
    const auto whole = [](const Number& number) { return std::optional(std::get<std::int64_t>(number)); };
    candidates.push_back(line_through(points, Form::kWhole, whole));
  } else {
    const auto whole = [](const Number& number) { return whole_of(std::get<double>(number)); };
    const auto under_one = [](const Number& number) { return whole_of(std::round(1 / std::get<double>(number))); };
    candidates.push_back(line_through(points, Form::kWhole, whole));
    candidates.push_back(line_through(points, Form::kReciprocal, under_one));
  }
  for (const auto& candidate : candidates) {
    if (candidate && goes_through(*candidate, points)) return candidate;
  }
  return std::nullopt;
}

std::string text_of(const Number& number) {
  if (const auto* whole = std::get_if<std::int64_t>(&number)) return std::to_string(*whole);
  return fmt::format("{:.17g}", std::get<double>(number));
}

std::string name_of(const NumberPlace& place, const Program& program) {
  switch (place.part) {
    case Part::kInputName:
      return "the name of input " + program.inputs[place.at].name;
    case Part::kArgument:
      return fmt::format("argument {} of operation {}, {}", place.argument, place.at,
                         program.operations[place.at].name);
    default: {
      const std::string what = place.part == Part::kSize ? "a size of " : "a stride of ";
      const bool is_input = place.at < program.inputs.size();
      return what + (is_input ? "input " + program.inputs[place.at].name : fmt::format("value {}", place.at));
    }
  }
}

std::string refusal_of(const NumberPlace& place, const Program& program, const Points& points) {
  std::string text = name_of(place, program) + " does not follow the batch size:";
  for (const auto& [n, number] : points) text += fmt::format(" {} at {},", text_of(number), n);
  text.back() = ';';
  return text + " only affine functions of it, and their reciprocals, are supported for all sizes";
}

bool is_first_dimension(const NumberPlace& place, const SizeExpression& expression) {
  return place.part == Part::kSize && place.element == 0 && expression == SizeExpression{Form::kWhole, 1, 0};
}

// The batch alone may be as long as the batch.
base::Expected<void> check_inputs(const SymbolicProgram& symbolic) {
  for (const auto& [place, expression] : symbolic.expressions) {
    const bool of_input =
        (place.part == Part::kSize || place.part == Part::kStride) && place.at < symbolic.program.inputs.size();
    if (of_input && !is_first_dimension(place, expression)) {
      return base::failure(name_of(place, symbolic.program) +
                           " depends on the batch size and is not the first dimension");
    }
  }
  if (symbolic.batch_inputs().empty()) return base::failure("no input has the batch size as its first dimension");
  return {};
}

bool are_of_three_sizes(const std::vector<SizedRecording>& recordings) {
  std::vector<std::int64_t> sizes;
  for (const SizedRecording& recording : recordings) sizes.push_back(recording.n);
  std::ranges::sort(sizes);
  return sizes.size() >= 3 && std::ranges::adjacent_find(sizes) == sizes.end();
}

}  // namespace

double SizeExpression::real_at(std::int64_t n) const {
  const auto whole = static_cast<double>(whole_at(n));
  return form == Form::kWhole ? whole : 1.0 / whole;
}

Program SymbolicProgram::at(std::int64_t n) const {
  ESPER_CHECK(covers(n), "a batch size that the program is not for");
  Program result = program;
  if (!is_for_all_sizes()) return result;
  visit_numbers(result, [&](const NumberPlace& place, auto& number) {
    const auto found = expressions.find(place);
    if (found == expressions.end()) return;
    if constexpr (std::is_same_v<std::decay_t<decltype(number)>, double>) {
      number = found->second.real_at(n);
    } else {
      number = found->second.whole_at(n);
    }
  });
  return result;
}

std::vector<std::size_t> SymbolicProgram::batch_inputs() const {
  std::vector<std::size_t> result;
  for (const auto& [place, expression] : expressions) {
    if (place.at < program.inputs.size() && is_first_dimension(place, expression)) result.push_back(place.at);
  }
  return result;
}

base::Expected<SymbolicProgram> find_symbolic(const std::vector<SizedRecording>& recordings) {
  ESPER_CHECK(are_of_three_sizes(recordings), "a program for all sizes needs recordings of three");
  std::vector<TakenApart> parts;
  for (const SizedRecording& recording : recordings) parts.push_back(take_apart(recording));
  for (const TakenApart& other : parts) {
    if (const auto same = check_same_form(parts.front(), other); !same) return base::failure(same.error());
  }
  SymbolicProgram symbolic(recordings.front().program);
  for (std::size_t i = 0; i < parts.front().numbers.size(); ++i) {
    Points points;
    for (const TakenApart& part : parts) points.emplace_back(part.n, part.numbers[i]);
    const bool constant =
        std::ranges::all_of(points, [&](const auto& point) { return point.second == points.front().second; });
    if (constant) continue;
    const NumberPlace& place = parts.front().places[i];
    const auto expression = expression_of(points);
    if (!expression) return base::failure(refusal_of(place, symbolic.program, points));
    symbolic.expressions.emplace(place, *expression);
  }
  if (const auto usable = check_inputs(symbolic); !usable) return base::failure(usable.error());
  symbolic.program = symbolic.at(SymbolicProgram::kTypical);
  return symbolic;
}

std::string save_symbolic(const SymbolicProgram& symbolic) {
  std::string text = save_program(symbolic.program);
  if (!symbolic.is_for_all_sizes()) return text;
  text += fmt::format("\nn {} {}", SymbolicProgram::kLeast, SymbolicProgram::kMost);
  for (const auto& [place, expression] : symbolic.expressions) {
    text += '\n';
    for (const auto number : {static_cast<std::int64_t>(place.part), static_cast<std::int64_t>(place.at),
                              static_cast<std::int64_t>(place.argument), static_cast<std::int64_t>(place.element),
                              static_cast<std::int64_t>(expression.form), expression.factor, expression.offset}) {
      text += fmt::format("{} ", number);
    }
  }
  return text;
}

}  // namespace esper::program
