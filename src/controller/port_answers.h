// What REST answers about ports of jobs.
#pragma once

#include "controller/answers.h"

namespace sl::controller::answers {

// A port that is open to the browser that asked for it.
struct OpenedPort {
  Text path;  // "/jobs/5/proxy/board/"
  Time expires_at;
};
BOOST_DESCRIBE_STRUCT(OpenedPort, (), (path, expires_at))

}  // namespace sl::controller::answers
