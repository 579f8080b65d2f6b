#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <set>

#include <limits>

#include "wire/agent_protocol.h"
#include "wire/base64.h"
#include "wire/error.h"
#include "wire/job_spec.h"
#include "wire/json.h"
#include "wire/utf8.h"

namespace sl::wire {
namespace {

struct Inner {
  std::optional<int> count;
  std::vector<std::string> words;
  friend bool operator==(const Inner&, const Inner&) = default;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (count, words))
struct Outer {
  std::string name;
  std::int64_t big = 0;
  double real = 0;
  bool truth = false;
  Inner inner;
  std::map<std::string, std::string> map;
  friend bool operator==(const Outer&, const Outer&) = default;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (name, big, real, truth, inner, map))

RC_GTEST_PROP(Json, what_is_written_is_read_back,
              (const std::vector<std::string>& words, std::int64_t big, bool truth)) {
  Outer outer{"n", big, 0.5, truth, {truth ? std::optional<int>(7) : std::nullopt, {}}, {}};
  for (std::string word : words) {
    std::erase_if(word, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    outer.inner.words.push_back(word);
    outer.map[word] = word;
  }
  const auto back = read_json<Outer>(write_json(outer));
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == outer);
}

TEST(ErrorText, is_read_as_the_error_that_was_printed) {
  Error error = invalid("bad-servers", "not a cluster [of ours]: 4y");
  error.notes = {"a note"};
  error.hints = {"one", "two"};
  const Error read = error_from_text("{\"part\":0.5}\n" + error_text(error));
  EXPECT_EQ(error_text(read), error_text(error));
  EXPECT_EQ(read.code, "bad-servers");
  EXPECT_EQ(error_from_text("Killed\n").code, "cannot-run");
  EXPECT_EQ(error_from_text("error: could not write all of x [disk-full]\n").kind, ErrorKind::unavailable);
}

TEST(Json, missing_keys_keep_their_default_and_null_empties_an_optional) {
  const auto read = read_json<Outer>(R"({"inner": {"count": null}})");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, Outer{});
}

TEST(Json, errors_name_the_place_and_the_word_that_was_meant) {
  EXPECT_EQ(read_json<Outer>("{\n  \"name\": }").error().pointer, "line 2, column 11");
  const auto unknown = read_json<Outer>(R"({"inner": {"cuont": 1}})");
  EXPECT_EQ(unknown.error().pointer, "/inner/cuont");
  EXPECT_EQ(unknown.error().hints.front(), "did you mean count?");
  EXPECT_EQ(read_json<Outer>(R"({"inner": {"count": "5"}})").error().pointer, "/inner/count");
  EXPECT_EQ(read_json<Outer>(R"({"inner": {"count": 5000000000}})").error().code, "wrong-type");
  EXPECT_EQ(read_json<Outer>(std::string(200'000, '[')).error().code, "malformed-json");
}

TEST(Json, a_pointer_escapes_the_characters_it_is_made_of) {
  EXPECT_EQ(read_json<Outer>(R"({"map": {"a/b~c": 1}})").error().pointer, "/map/a~1b~0c");
}

TEST(Json, numbers_that_do_not_fit_are_refused_and_whole_reals_are_whole) {
  EXPECT_EQ(read_json<Outer>(R"({"big": 18446744073709551615})").error().code, "wrong-type");
  EXPECT_EQ(read_json<Outer>(R"({"big": 1e300})").error().code, "wrong-type");
  EXPECT_EQ(read_json<Outer>(R"({"big": 2.5})").error().code, "wrong-type");
  EXPECT_EQ(read_json<Outer>(R"({"big": 2.0})")->big, 2);
}

TEST(Json, what_json_cannot_say_is_written_as_unknown) {
  Outer outer;
  outer.real = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(write_json(outer).find(R"("real":null)"), std::string::npos);
}

TEST(Json, a_syntax_error_shows_its_line_with_a_caret) {
  const Error error = read_json<Outer>("{\n  \"name\": }").error();
  EXPECT_EQ(error.notes, (std::vector<std::string>{"2 |   \"name\": }", "  |           ^"}));
}

TEST(AgentProtocol, messages_survive_the_wire_and_unknown_keys_are_tolerated) {
  StartAttempt order;
  order.incarnation = {"c", 7, 2, 1'700'000};
  order.placement.gpus = {1, 3};
  order.spec.command = std::vector<std::string>{"a", "b"};
  const auto back = decode_controller_message(encode(ControllerMessage(order)));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(std::get<StartAttempt>(*back).placement.gpus, order.placement.gpus);
  EXPECT_EQ(std::get<StartAttempt>(*back).incarnation, order.incarnation);
  EXPECT_EQ(std::get<StartAttempt>(*back).spec.command, order.spec.command);
  // What an agent of version 1 holds: it is refused, not misread.
  EXPECT_TRUE(decode_agent_message(
                  R"({"type": "hello", "protocol": 1, "server": "s", "attempts": [{"job_id": 7, "attempt": 1}]})")
                  .ok());
  EXPECT_TRUE(decode_agent_message(R"({"type": "ping", "at_us": 5, "new_key": 1})").ok());
  EXPECT_EQ(decode_agent_message(R"({"type": "pong"})").error().code, "unknown-message");
  EXPECT_EQ(decode_agent_message("[]").error().code, "bad-message");
}

TEST(AgentProtocol, every_message_is_text_whatever_a_job_has_named) {
  AttemptReport report{{"c", 5, 1, 5}, "exited", 0};
  report.failure_message = "cannot read \xFF\xC3";
  const std::string text = encode(AgentMessage(AttemptChanged{1, report}));
  EXPECT_TRUE(is_utf8(text));
  const auto read = decode_agent_message(text);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(std::get<AttemptChanged>(*read).report.failure_message, "cannot read \uFFFD\uFFFD");
}

TEST(Utf8, is_cut_between_characters) {
  const std::string text = "a\u00E4\u20AC\U0001F600";  // 1, 2, 3 and 4 bytes
  std::set<std::size_t> lengths;
  for (std::size_t most = 0; most <= text.size() + 1; ++most) {
    const std::string_view first = first_characters(text, most);
    EXPECT_TRUE(is_utf8(first)) << most;
    EXPECT_LE(first.size(), most);
    lengths.insert(first.size());
  }
  EXPECT_EQ(lengths, (std::set<std::size_t>{0, 1, 3, 6, 10}));
  std::set<std::size_t> whole;
  for (std::size_t most = 0; most <= text.size(); ++most) whole.insert(whole_characters(text.substr(0, most)));
  EXPECT_EQ(whole, lengths);
  for (const char* no_text : {"a\xFF", "a\x80\x80\x80\x80", "\xC0", "a\xE2\x82\xACz"})
    EXPECT_EQ(whole_characters(no_text), std::string_view(no_text).size()) << no_text;
}

TEST(Quantities, durations_sizes_and_gpu_counts_as_people_write_them) {
  EXPECT_EQ(*parse_duration_s("90s"), 90);
  EXPECT_EQ(*parse_duration_s("1h30m"), 5400);
  EXPECT_EQ(*parse_duration_s("2d"), 172'800);
  EXPECT_EQ(*parse_duration_s("01:02:03"), 3723);
  for (const char* bad : {"", "h", "5x", "-5s", "1:2", "5s5", "nan", "inf", "1e999s"})
    EXPECT_FALSE(parse_duration_s(bad).ok()) << bad;
  EXPECT_EQ(*parse_bytes("2G"), 2LL << 30);
  EXPECT_EQ(*parse_bytes("4GB"), 4'000'000'000);
  EXPECT_EQ(*parse_bytes("512 MiB"), 512LL << 20);
  for (const char* bad : {"", "G", "-1G", "1X", "99999999TiB"}) EXPECT_FALSE(parse_bytes(bad).ok()) << bad;
  EXPECT_EQ(parse_gpus("1..4")->max, 4);
  for (const char* bad : {"", "..", "1..", "x", "1...4", "2.5"}) EXPECT_FALSE(parse_gpus(bad).ok()) << bad;
}

TEST(Suggest, finds_what_was_meant_and_nothing_far_off) {
  EXPECT_EQ(did_you_mean("submti", {"ls", "submit"}), "submit");
  EXPECT_EQ(did_you_mean("xyzzy", {"ls", "submit"}), std::nullopt);
}

TEST(Errors, are_the_same_on_both_sides_of_the_wire) {
  const Error error =
      invalid("gpus-unsatisfiable", "no server has 8 GPUs").note("the largest is gpu3 with 4").hint("ask for fewer");
  const Error back = error_from_problem(http_status(error), problem_json(error, "/x"));
  EXPECT_EQ(
      error_text(back),
      "error: no server has 8 GPUs [gpus-unsatisfiable]\n  note: the largest is gpu3 with 4\n  hint: ask for fewer\n");
  EXPECT_EQ(exit_status(back), 2);
  EXPECT_EQ(detail::wrong_type("/gpus/1", "a whole number").message, "gpus[1] must be a whole number");
  EXPECT_EQ(detail::wrong_type("/roles/0/name", "a text").message, "name must be a text");
  const Error placed = invalid("wrong-type", "gpus must be a whole number").at("/gpus");
  EXPECT_EQ(error_from_problem(http_status(placed), problem_json(placed)).pointer, "/gpus");
  EXPECT_EQ(error_from_problem(502, "<html>").code, "http-502");
  EXPECT_EQ(error_from_problem(422, problem_json(invalid("x", "not \xff\xfe"), "/jobs/1\xff")).message,
            "not \xEF\xBF\xBD\xEF\xBF\xBD")
      << "what was asked for need not be UTF-8";
}

TEST(Base64, goes_there_and_back_and_refuses_what_is_none) {
  EXPECT_EQ(encode_base64("Man"), "TWFu");
  EXPECT_EQ(encode_base64("Ma"), "TWE=");
  EXPECT_EQ(encode_base64(""), "");
  EXPECT_EQ(decode_base64("TWE="), "Ma");
  EXPECT_EQ(decode_base64(encode_base64(std::string("\0\xff\x80", 3))), std::string("\0\xff\x80", 3));
  EXPECT_EQ(decode_base64("TW*="), std::nullopt);
}

}  // namespace
}  // namespace sl::wire
