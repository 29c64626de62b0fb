// Package channels is what all senders share: the transport to providers, the tables that say what a provider's code
// means, templates, and the cleaning of errors.
//
// It promises that an error says truly whether anything left (rule F1 and section 5 of docs/protocol.md), that a
// request is made once and never repeated on its own, that nothing leaves after a timeout, and that no phone, openid
// or secret is in any error. What a message looks like on the wire is left to the senders: notify, sms/aliyun,
// sms/tencent, wechat.
package channels
