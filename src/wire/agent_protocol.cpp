#include "wire/agent_protocol.h"

#include "wire/job_spec_text.h"
#include "wire/json.h"
#include "wire/utf8.h"

namespace sl::wire {
namespace {

template <typename T>
constexpr const char* type_name = nullptr;
template <>
constexpr const char* type_name<Hello> = "hello";
template <>
constexpr const char* type_name<AttemptChanged> = "attempt_changed";
template <>
constexpr const char* type_name<Progress> = "progress";
template <>
constexpr const char* type_name<Telemetry> = "telemetry";
template <>
constexpr const char* type_name<LogChunk> = "log_chunk";
template <>
constexpr const char* type_name<JobFilesQuery> = "job_files_query";
template <>
constexpr const char* type_name<Welcome> = "welcome";
template <>
constexpr const char* type_name<Refused> = "refused";
template <>
constexpr const char* type_name<StartAttempt> = "start_attempt";
template <>
constexpr const char* type_name<LaunchAttempt> = "launch_attempt";
template <>
constexpr const char* type_name<StopAttempt> = "stop_attempt";
template <>
constexpr const char* type_name<SignalAttempt> = "signal_attempt";
template <>
constexpr const char* type_name<ResizeAttempt> = "resize_attempt";
template <>
constexpr const char* type_name<FreezeAttempt> = "freeze_attempt";
template <>
constexpr const char* type_name<ThawAttempt> = "thaw_attempt";
template <>
constexpr const char* type_name<ForgetAttempt> = "forget_attempt";
template <>
constexpr const char* type_name<LogRead> = "log_read";
template <>
constexpr const char* type_name<JobFilesAnswer> = "job_files_answer";
template <>
constexpr const char* type_name<CheckpointOffered> = "checkpoint_offered";
template <>
constexpr const char* type_name<CheckpointProgress> = "checkpoint_progress";
template <>
constexpr const char* type_name<ImageProgress> = "image_progress";
template <>
constexpr const char* type_name<OfferCheckpoint> = "offer_checkpoint";
template <>
constexpr const char* type_name<CheckpointRead> = "checkpoint_read";
template <>
constexpr const char* type_name<CheckpointPiece> = "checkpoint_piece";
template <>
constexpr const char* type_name<ForeignGpuUse> = "foreign_gpu_use";
template <>
constexpr const char* type_name<SnapshotRead> = "snapshot_read";
template <>
constexpr const char* type_name<SnapshotPiece> = "snapshot_piece";
template <>
constexpr const char* type_name<OpenChannel> = "open_channel";
template <>
constexpr const char* type_name<ChannelRefused> = "channel_refused";
template <>
constexpr const char* type_name<Ping> = "ping";

template <typename Message>
std::string encode_message(const Message& message) {
  return std::visit(
      [](const auto& m) {
        boost::json::object object;
        static_assert(type_name<std::decay_t<decltype(m)>> != nullptr, "every message has a name");
        object["type"] = type_name<std::decay_t<decltype(m)>>;
        boost::json::value fields = to_value(m);
        if constexpr (std::is_same_v<std::decay_t<decltype(m)>, StartAttempt>) {
          boost::json::value& spec = fields.get_object()["spec"];
          spec = stated(std::move(spec.get_object()));
        }
        for (auto& [key, value] : fields.as_object()) object[key] = std::move(value);
        // What a job has named or a program is called need not be text, and one message that is not would end the session.
        std::string text = boost::json::serialize(object);
        return is_utf8(text) ? text : as_utf8(text);
      },
      message);
}

template <typename Message>
Result<Message> decode_message(std::string_view text) {
  Result<boost::json::value> value = parse_json(text);
  if (!value.ok()) return value.error();
  if (!value->is_object() || !value->get_object().contains("type") || !value->get_object().at("type").is_string()) {
    return invalid("bad-message", "a message is an object with a type");
  }
  const std::string type = value->get_object().at("type").get_string().c_str();
  std::optional<Result<Message>> decoded;
  boost::mp11::mp_for_each<
      boost::mp11::mp_transform<boost::mp11::mp_identity, boost::mp11::mp_rename<Message, boost::mp11::mp_list>>>(
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        if (decoded || type != type_name<T>) return;
        Result<T> message = from_value<T>(*value, Unknown::ignore);
        decoded = message.ok() ? Result<Message>(Message(std::move(*message))) : Result<Message>(message.error());
      });
  if (!decoded) return invalid("unknown-message", "unknown message type " + type);
  return std::move(*decoded);
}

}  // namespace

std::string container_name(const Incarnation& incarnation, int rank) {
  return "schedulearn-" + key_of(incarnation) + "-" + std::to_string(rank);
}

std::string encode(const AgentMessage& message) { return encode_message(message); }
std::string encode(const ControllerMessage& message) { return encode_message(message); }
Result<AgentMessage> decode_agent_message(std::string_view text) { return decode_message<AgentMessage>(text); }
Result<ControllerMessage> decode_controller_message(std::string_view text) {
  return decode_message<ControllerMessage>(text);
}

}  // namespace sl::wire
