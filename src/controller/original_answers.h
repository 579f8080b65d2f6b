// What the original Schedulearn's API answers with, in its words (docs/guide/rest.md). As answers.h.
#pragma once

#include "controller/answers.h"

namespace sl::controller::answers {

struct OriginalJob {
  Number id = 0;
  Text name;
  std::optional<Text> type, container_name, container_image;
  std::optional<wire::CommandLine> command;
  Time created_at;
  std::optional<Time> started_at, completed_at, estimated_completion_time;
  int required_gpus = 1, no_of_migrations = 0;
  std::optional<Text> trained_at;
  Text status;
  std::vector<int> at_gpus;
  std::optional<Text> error;
};
BOOST_DESCRIBE_STRUCT(OriginalJob, (),
                      (id, name, type, container_name, container_image, command, created_at, started_at, completed_at,
                       estimated_completion_time, required_gpus, no_of_migrations, trained_at, status, at_gpus, error))

struct CreatedOriginalJob : OriginalJob {
  Text message = "Job created successfully";
};
BOOST_DESCRIBE_STRUCT(CreatedOriginalJob, (OriginalJob), (message))

struct OriginalUser {
  Text username, email, token;
};
BOOST_DESCRIBE_STRUCT(OriginalUser, (), (username, email, token))

struct Message {
  Text message;
};
BOOST_DESCRIBE_STRUCT(Message, (), (message))

}  // namespace sl::controller::answers
