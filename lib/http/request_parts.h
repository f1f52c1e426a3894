#pragma once
// From a parsed request header to what access is decided by and what handlers see. For this room's .cpp files: it
// includes Boost.

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <string>
#include <variant>

#include "http/access.h"
#include "http/message.h"

namespace esper::http {

using RequestMessage = boost::beast::http::request<boost::beast::http::string_body>;

// The request without its body and peer, or why it is refused. With a token the rules of http/access.h apply.
std::variant<Request, Refusal> request_of(const RequestMessage& message, const std::string* token);

}  // namespace esper::http
