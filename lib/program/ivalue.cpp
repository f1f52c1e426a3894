#include "program/ivalue.h"

#include <ATen/core/type_factory.h>

#include "base/error.h"

namespace esper::program {
namespace {

using c10::TypeKind;

// T of T?, else T.
const c10::Type& present_type(const c10::Argument& argument) {
  const c10::TypePtr& type = argument.real_type();
  if (const auto* optional = type->castRaw<c10::OptionalType>()) return *optional->getElementType();
  return *type;
}

const c10::Type* element_type(const c10::Type& type) {
  const auto* list = type.castRaw<c10::ListType>();
  return list == nullptr ? nullptr : list->getElementType().get();
}

bool is_optional_tensor(const c10::Type& type) {
  const auto* optional = type.castRaw<c10::OptionalType>();
  return optional != nullptr && optional->getElementType()->kind() == TypeKind::TensorType;
}

bool is_whole_number(TypeKind kind) {
  return kind == TypeKind::IntType || kind == TypeKind::SymIntType || kind == TypeKind::NumberType ||
         kind == TypeKind::ScalarTypeType || kind == TypeKind::LayoutType || kind == TypeKind::MemoryFormatType;
}

Argument list_argument(const c10::IValue& value, const NameTensor& name_tensor) {
  TensorListArgument list;
  for (const c10::IValue& item : value.toListRef()) {
    const bool absent = item.isNone() || (item.isTensor() && !item.toTensor().defined());
    ESPER_CHECK(absent || item.isTensor(), "a list of " + item.tagKind() + " in a program");
    list.ids.push_back(absent ? kNoValue : name_tensor(item.toTensor()));
  }
  return list;
}

struct ToIValue {
  const c10::Type& type;
  const TensorOf& tensor;

  c10::IValue operator()(std::monostate) const { return {}; }
  c10::IValue operator()(const TensorArgument& argument) const {
    return argument.id == kNoValue ? c10::IValue(at::Tensor()) : c10::IValue(tensor(argument.id));
  }
  c10::IValue operator()(const TensorListArgument& argument) const {
    if (is_optional_tensor(*element_type(type))) {
      c10::List<std::optional<at::Tensor>> list;
      for (const ValueId id : argument.ids) {
        list.push_back(id == kNoValue ? std::optional<at::Tensor>() : tensor(id));
      }
      return list;
    }
    c10::List<at::Tensor> list;
    for (const ValueId id : argument.ids) list.push_back(id == kNoValue ? at::Tensor() : tensor(id));
    return list;
  }
  c10::IValue operator()(bool argument) const { return argument; }
  c10::IValue operator()(std::int64_t argument) const { return argument; }
  c10::IValue operator()(double argument) const { return argument; }
  c10::IValue operator()(const std::vector<std::int64_t>& argument) const { return argument; }
  c10::IValue operator()(const std::vector<double>& argument) const { return argument; }
  c10::IValue operator()(const std::vector<bool>& argument) const {
    c10::List<bool> list;
    for (const bool item : argument) list.push_back(item);
    return list;
  }
  c10::IValue operator()(const std::string& argument) const { return argument; }
  c10::IValue operator()(const DeviceArgument& argument) const { return c10::Device(argument.name); }
};

struct Fits {
  const c10::Argument& schema;
  const c10::Type& type;

  bool list_of(std::initializer_list<TypeKind> kinds) const {
    const c10::Type* element = element_type(type);
    return element != nullptr && std::find(kinds.begin(), kinds.end(), element->kind()) != kinds.end();
  }
  bool operator()(std::monostate) const { return schema.type()->kind() == TypeKind::OptionalType; }
  // An undefined tensor also fits where the schema wants one: CUDA's attention backwards take their bias so.
  bool operator()(const TensorArgument&) const { return type.kind() == TypeKind::TensorType; }
  bool operator()(const TensorListArgument&) const {
    return list_of({TypeKind::TensorType}) ||
           (element_type(type) != nullptr && is_optional_tensor(*element_type(type)));
  }
  bool operator()(bool) const { return type.kind() == TypeKind::BoolType || type.kind() == TypeKind::NumberType; }
  bool operator()(std::int64_t) const { return is_whole_number(type.kind()); }
  bool operator()(double) const { return type.kind() == TypeKind::FloatType || type.kind() == TypeKind::NumberType; }
  bool operator()(const std::vector<std::int64_t>&) const { return list_of({TypeKind::IntType, TypeKind::SymIntType}); }
  bool operator()(const std::vector<double>&) const { return list_of({TypeKind::FloatType}); }
  bool operator()(const std::vector<bool>&) const { return list_of({TypeKind::BoolType}); }
  bool operator()(const std::string&) const { return type.kind() == TypeKind::StringType; }
  bool operator()(const DeviceArgument& argument) const {
    return type.kind() == TypeKind::DeviceObjType && (argument.name == "cpu" || argument.name.starts_with("cuda"));
  }
};

bool has_tag(const c10::OperatorHandle& op, at::Tag tag) {
  const auto tags = op.getTags();
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

}  // namespace

std::optional<c10::OperatorHandle> find_operator(const std::string& name) {
  const std::size_t dot = name.find('.');
  const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchema({name.substr(0, dot), overload});
}

std::string operator_name(const c10::OperatorHandle& op) {
  const std::string& overload = op.operator_name().overload_name;
  return op.operator_name().name + (overload.empty() ? "" : "." + overload);
}

Argument to_argument(const c10::IValue& value, const NameTensor& name_tensor) {
  if (value.isNone()) return std::monostate{};
  if (value.isTensor()) {
    return TensorArgument{value.toTensor().defined() ? name_tensor(value.toTensor()) : kNoValue};
  }
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isIntList()) return value.toIntVector();
  if (value.isDoubleList()) return value.toDoubleVector();
  if (value.isBoolList()) {
    const c10::List<bool> list = value.toBoolList();
    return std::vector<bool>(list.begin(), list.end());
  }
  if (value.isString()) return value.toStringRef();
  // Without the index: a program is for every GPU of its type, and runs on its thread's current one.
  if (value.isDevice()) return DeviceArgument{c10::DeviceTypeName(value.toDevice().type(), /*lower_case=*/true)};
  if (value.isList()) return list_argument(value, name_tensor);
  ESPER_CHECK(false, "a program holds no " + value.tagKind());
  return {};
}

c10::IValue to_ivalue(const Argument& argument, const c10::Argument& schema, const TensorOf& tensor) {
  return std::visit(ToIValue{present_type(schema), tensor}, argument);
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

bool writes_argument(const c10::OperatorHandle& op) { return std::ranges::any_of(op.schema().arguments(), is_written); }

bool changes_view(const c10::OperatorHandle& op) { return has_tag(op, at::Tag::inplace_view); }

bool is_random(const c10::OperatorHandle& op) { return has_tag(op, at::Tag::nondeterministic_seeded); }

std::optional<std::size_t> viewed_argument(const c10::FunctionSchema& schema, std::size_t result) {
  const auto& arguments = schema.arguments();
  const c10::Argument& made = schema.returns()[result];
  // A list of views, as split makes, carries its letter within; its argument then loses its own ("a -> *").
  if (made.type()->kind() == TypeKind::ListType && !arguments.empty() && arguments[0].alias_info() != nullptr &&
      !arguments[0].alias_info()->isWrite()) {
    return 0;
  }
  if (made.alias_info() == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::AliasInfo* other = arguments[i].alias_info();
    if (other != nullptr && other->beforeSets() == made.alias_info()->beforeSets()) return i;
  }
  return std::nullopt;
}

base::Expected<void> check_type(const Argument& argument, const c10::Argument& schema) {
  if (std::visit(Fits{schema, present_type(schema)}, argument)) return {};
  return base::failure("argument " + schema.name() + " is no " + schema.type()->annotation_str());
}

}  // namespace esper::program
