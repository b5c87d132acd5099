// An error message that a browser would execute.
// lab: 01_naive_atomic
// stopped by: the compiler
// expect: wrong
// BEGIN naive_atomic
#error <script>alert(1)</script><img src=x onerror=alert(1)>
// END naive_atomic
