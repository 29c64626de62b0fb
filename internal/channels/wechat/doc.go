// Package wechat sends template messages of a WeChat official account.
//
// WeChat dedups by openid and client_msg_id for ten minutes, so a send whose outcome is not known may be repeated with
// the same reference. Access tokens come from stable_token, never forced: all instances share one and do not disturb
// each other. A message whose token WeChat refuses was not sent; it goes out once more with a new token, and never a
// third time.
package wechat
