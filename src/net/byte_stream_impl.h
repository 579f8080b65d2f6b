// The Beast side of ByteStream; included only by .cpp files of this folder.
#pragma once

#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <utility>

#include "net/byte_stream.h"
#include "net/websocket_impl.h"

namespace sl::net {

inline constexpr std::size_t stream_piece_bytes = 64 << 10;

class SocketByteStream : public ByteStream, public std::enable_shared_from_this<SocketByteStream> {
 public:
  // `read_ahead`: what has been read of it already.
  explicit SocketByteStream(SocketStream&& socket, boost::beast::flat_buffer read_ahead = {});

  void read(std::function<void(std::string)> then) override;
  void write(std::string bytes, std::function<void(bool)> then) override;
  void finish() override;
  void close() override;

  SocketStream& socket() { return socket_; }
  boost::beast::flat_buffer& read_ahead() { return read_ahead_; }

 private:
  std::string take_read_ahead();

  SocketStream socket_;
  boost::beast::flat_buffer read_ahead_;
  std::string unwritten_;
};

}  // namespace sl::net
