// What ranks say when they can no longer send messages: a rank that crashes, or that exits, leaves its last
// words where rank 0 finds them; and rank 0, which waits for an answer that does not come, asks the others
// where they are. It goes through memory that the processes of one machine share. Of ranks elsewhere nothing
// is known.
#pragma once

#include <string>

namespace lab {

// On rank 0: makes the place, and returns the name by which the others find it; "" if there is none.
std::string make_place_for_words(int ranks);
// On the others. They may not find it.
void find_place_for_words(const std::string& name, int ranks);
// On every rank, when all have found it: rank 0 removes the name.
void settle_in_place_for_words(int own_rank);

// Every rank, before it ends as it should: from then on, nothing is said and no rank is missed.
void leave_place_for_words();

// Ranks other than 0. The first words count; returns when rank 0 has noticed, or after a moment.
void leave_last_words(const std::string& text);
// That this rank's run failed. Rank 0 will hear it, unless it waits for something that will never come now.
void leave_word_of_failure(const std::string& text);
// Whether rank 0 asks where this rank is, which it does once; the answer may be "".
bool is_asked_for_words();
void answer_with_words(const std::string& text);

// Rank 0. Whether a rank has left last words, or its process is no longer there; or it failed some time ago.
bool has_lost_a_rank();
// Which, and with which words: "rank 1: ..."; "" if none is known.
std::string words_of_the_lost();
// Whether those ranks are still there: the others may know more.
bool is_only_failure();
// Asks the others, and waits for a moment: "rank 1 is ..."; "" if none has anything to say.
std::string answers_of_all();

} // namespace lab
