// The Beast side of TakenRequest; included only by .cpp files of this folder.
#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "net/taken_request.h"
#include "net/websocket_impl.h"

namespace sl::net {

using HeadParser = boost::beast::http::request_parser<boost::beast::http::string_body>;

// `head` has been read, `read_ahead` is what came after it.
std::shared_ptr<TakenRequest> take_request(SocketStream&& socket, boost::beast::flat_buffer read_ahead,
                                           HeadParser&& head);

}  // namespace sl::net
