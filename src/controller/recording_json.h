// The lines of a recording.
#pragma once

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <optional>

#include "controller/outside.h"
#include "store/store.h"
#include "wire/json.h"

namespace sl::store {

BOOST_DESCRIBE_STRUCT(JobRow, (),
                      (id, user, name, spec_json, state, submitted_us, state_since_us, first_start_us, last_start_us,
                       finished_us, attempt, run_us, attained_gpu_us, preemptions, migrations, resizes, failures,
                       group_id, member_index, quick_requeues, server, gpus, priority, held, cancel_requested,
                       exit_code, signal, failure_kind, failure_message, progress_json, annotation, extra_json,
                       telemetry_json))
BOOST_DESCRIBE_STRUCT(PlacementRow, (),
                      (job_id, attempt, incarnation, cluster, server, rank, gpus, gpu_uuids, ended_us, has_checkpoint))
BOOST_DESCRIBE_STRUCT(EventRow, (),
                      (seq, at_us, kind, job_id, server, actor_type, actor_name, from, to, text, data_json))
BOOST_DESCRIBE_STRUCT(PolicyRow, (), (since_us, name, parameters_json, by, source, reason))
BOOST_DESCRIBE_STRUCT(IdempotencyRow, (), (key, body_hash, job_id, at_us))
BOOST_DESCRIBE_STRUCT(ServerRow, (), (name, agent_id, description_json, last_contact_us))
BOOST_DESCRIBE_STRUCT(SettingRow, (), (key, value))
BOOST_DESCRIBE_STRUCT(ProfileRow, (), (family, profile_json, at_us, user))
BOOST_DESCRIBE_STRUCT(TotalRow, (), (state, jobs))
BOOST_DESCRIBE_STRUCT(FinishedJob, (), (id, state))
BOOST_DESCRIBE_STRUCT(Removal, (), (at_us, rule, jobs, events_until_us, by))
BOOST_DESCRIBE_STRUCT(Loaded, (),
                      (unfinished_jobs, finished_jobs, finished_totals, placements, servers, policies, settings,
                       profiles, keys, last_event_us, next_event_seq, next_job_id))

}  // namespace sl::store

namespace sl::controller {

inline constexpr int recording_version = 3;

// Nothing for messages that decide nothing.
std::optional<boost::json::object> order_line(SessionId session, const wire::ControllerMessage& message);
boost::json::object event_line(const store::EventRow& row);

}  // namespace sl::controller
