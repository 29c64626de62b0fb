// Package provider is a stand-in for the message providers: one HTTP server that speaks Aliyun's and Tencent's SMS
// APIs and WeChat's template messages as they are on the wire, signatures checked, and fails on request.
//
// It keeps a journal of every send it accepted, so it can say what a worker cannot: whether anything was sent twice.
// Faults are picked by rule and seed, so a scenario repeats itself exactly. One base URL serves all three providers:
// they are told apart by the headers and paths of their own protocols. Receipts are posted to where SetReceipts says,
// in each provider's own words; questions are answered as SetQueries says. docs/sandbox.md is for its users. What it leaves
// out: billing, and the registration of templates and signatures (any
// template is known).
package provider
