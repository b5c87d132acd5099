// Which elements each thread reads, in one formula; and which of them no thread reads.
#pragma once

#include "explain/element_words.hpp"
#include "explain/followed_result.hpp"

#include <optional>
#include <string>

namespace lab {

class WhatThreadsRead {
public:
  explicit WhatThreadsRead(const FollowedResult& result) : result_(result) {}

  // " In line 12, thread t reads element t ...", if that holds for all threads; "" the second time.
  std::string formula();
  // That no thread reads these, of the elements that are missing in the result.
  std::string unread(const Indices& elements, std::size_t missing);

private:
  std::optional<unsigned> load_never_reached() const;

  const FollowedResult& result_;
  bool is_reported_ = false;
};

} // namespace lab
