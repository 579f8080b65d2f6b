#include "base/csv.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace sl {
namespace {

// Up to eight characters, the first in the lowest byte: comparing them at once is faster than one by one, and than
// memchr, since fields are short. Zeros behind the end.
std::uint64_t word_at(const char* from, const char* end) {
  std::uint64_t word = 0;
  if (end - from >= static_cast<std::ptrdiff_t>(sizeof word)) {
    std::memcpy(&word, from, sizeof word);
  } else {
    std::memcpy(&word, from, static_cast<std::size_t>(end - from));
  }
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

// The highest bit of each byte that is `c`, an ASCII character.
std::uint64_t places_of(char c, std::uint64_t word) {
  constexpr std::uint64_t each = 0x0101010101010101, low_bits = 0x7F * each;
  const std::uint64_t differs = word ^ each * static_cast<std::uint64_t>(c);
  return ~(((differs & low_bits) + low_bits) | differs | low_bits);
}

}  // namespace

std::string_view take_line(std::string_view text, std::size_t& at) {
  const std::size_t end = std::min(text.find('\n', at), text.size());
  std::string_view line = text.substr(at, end - at);
  at = end + 1;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool CsvRows::next() {
  is_malformed_ = false;
  while (at_ < text_.size()) {
    line_ += std::exchange(lines_, 1);
    const std::size_t begin = at_;
    raw_ = take_line(text_, at_);
    if (raw_.empty()) continue;
    split_plain();
    if (fields_.empty()) is_malformed_ = !split_quoted(begin);
    if (is_malformed_) fields_.clear();
    return true;
  }
  fields_.clear();
  return false;
}

// Splits the current line, over the fields of the one before: most rows have as many. No field if it contains a quote.
void CsvRows::split_plain() {
  std::string_view *next = fields_.data(), *last = next + fields_.size();
  const auto make_room = [&] {
    const auto count = static_cast<std::size_t>(next - fields_.data());
    fields_.resize(std::min(count + 16, csv_fields_max + 1));
    next = fields_.data() + count;
    last = fields_.data() + fields_.size();
    return next != last;
  };
  const char *const end = raw_.data() + raw_.size(), *field = raw_.data();
  for (const char* word = field; word < end; word += sizeof(std::uint64_t)) {
    const std::uint64_t characters = word_at(word, end);
    if (places_of('"', characters) != 0) return fields_.clear();
    for (std::uint64_t commas = places_of(',', characters); commas != 0; commas &= commas - 1) {
      if (next == last && !make_room()) return;
      const char* const comma = word + std::countr_zero(commas) / 8;
      *next++ = {field, comma};
      field = comma + 1;
    }
  }
  if (next == last && !make_room()) return;
  *next++ = {field, end};
  fields_.resize(static_cast<std::size_t>(next - fields_.data()));
}

// The row that begins at `at`, over as many lines as its quotes span. False: malformed.
bool CsvRows::split_quoted(std::size_t at) {
  const std::size_t begin = at;
  while (true) {
    const bool is_quoted = at < text_.size() && text_[at] == '"';
    const std::size_t end = is_quoted ? read_quoted(at + 1) : read_unquoted(at);
    if (end == std::string_view::npos) return false;
    const bool goes_on = end < text_.size() && text_[end] == ',' && fields_.size() <= csv_fields_max;
    if (!goes_on) {
      const std::string_view row = text_.substr(begin, std::min(text_.find('\n', end), text_.size()) - begin);
      lines_ = 1 + std::count(row.begin(), row.end(), '\n');
      at_ = begin + row.size() + 1;
      return true;
    }
    at = end + 1;
  }
}

// These append the field that begins at `begin` (after its opening quote, if any) and return where it ends: at a comma,
// a line end or the end of the text. npos: malformed.
std::size_t CsvRows::read_unquoted(std::size_t begin) {
  const std::size_t end = std::min(text_.find_first_of(",\n", begin), text_.size());
  std::string_view field = text_.substr(begin, end - begin);
  if (field.ends_with('\r') && !text_.substr(end).starts_with(',')) field.remove_suffix(1);
  fields_.push_back(field);
  return field.find('"') == std::string_view::npos ? end : std::string_view::npos;
}

std::size_t CsvRows::read_quoted(std::size_t begin) {
  std::string* unquoted = nullptr;  // the field's value if it contains quotes
  for (std::size_t from = begin;;) {
    const std::size_t quote = text_.find('"', from);
    if (quote == std::string_view::npos) return quote;
    const bool is_doubled = text_.substr(quote + 1).starts_with('"');
    if (is_doubled && !unquoted) unquoted = &unquoted_.emplace_back();
    if (unquoted) unquoted->append(text_.substr(from, quote - from)).append(is_doubled ? 1 : 0, '"');
    from = quote + 2;
    if (is_doubled) continue;
    fields_.push_back(unquoted ? std::string_view(*unquoted) : text_.substr(begin, quote - begin));
    const std::string_view rest = text_.substr(quote + 1);
    if (rest.starts_with('\r')) return rest.size() == 1 || rest[1] == '\n' ? quote + 2 : std::string_view::npos;
    return rest.empty() || rest[0] == ',' || rest[0] == '\n' ? quote + 1 : std::string_view::npos;
  }
}

bool is_plain_csv_field(std::string_view field) {
  return std::none_of(field.begin(), field.end(), [](char c) {
    return c <= ',' && (c == ',' || c == '"' || c == '\n' || c == '\r');  // nearly all are above
  });
}

void append_csv_field(std::string& to, std::string_view field) {
  if (is_plain_csv_field(field)) return void(to.append(field));
  to.push_back('"');
  for (const char c : field) to.append(c == '"' ? 2 : 1, c);
  to.push_back('"');
}

std::string csv_field(std::string_view field) {
  std::string text;
  append_csv_field(text, field);
  return text;
}

}  // namespace sl
