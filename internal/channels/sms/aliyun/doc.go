// Package aliyun sends SMS through Alibaba Cloud's dysmsapi (2017-05-25): SendSms for one number a request, and
// QuerySendDetails to find out about a send whose outcome is not known.
//
// Aliyun does not dedup: a request goes out once, and only a refusal of its signature's nonce or time makes it go out
// again, signed anew. Our reference travels as OutId, which the query tells back. Receipts are left to another
// package.
package aliyun
