// Package tencent sends SMS through Tencent Cloud (2021-01-11), by Tencent's own client over our transport: the
// client signs and reads, the transport sees to timeouts, evidence and single requests.
//
// Tencent does not dedup: a request goes out once. Our reference travels as SessionContext. An answer has two levels
// of errors, of the request and of the number; only the number's "Ok" is a yes. What became of an unknown send can
// be asked, but only a yes with our reference in it counts.
package tencent
