package e2e

// longVariable, when set, makes the tests that have a larger size take it: make long.
const longVariable = "TESTBED_LONG"
