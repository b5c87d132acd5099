// {fmt} compiled once. PyPI's package holds no static library, and as headers alone it takes more than half
// of the time of each file that formats.
#include <fmt/format-inl.h>

namespace fmt::detail { // what the headers expect of the library
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
} // namespace fmt::detail
