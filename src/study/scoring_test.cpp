#include "study/scoring.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sl::study {
namespace {

TEST(Scoring, has_no_error_without_a_question_and_an_infinite_one_without_an_answer) {
  Scoring scoring("guess");
  EXPECT_TRUE(std::isnan(scoring.score().error));
  scoring.add(10, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isinf(scoring.score().error));
  EXPECT_FALSE(scoring.score().covers || scoring.score().width);
}

}  // namespace
}  // namespace sl::study
