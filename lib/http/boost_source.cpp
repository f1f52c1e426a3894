// The parts of Asio and Beast that need no template arguments.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
