// Package receipts is the door through which providers say later what became of a message: /receipts/aliyun,
// /receipts/tencent and /receipts/wechat, each in its provider's own words.
//
// It promises that a receipt is stored before anything is made of it, and answered as accepted only then; that none is
// believed without proof of its sender (a signature, or a secret path and an address list); and that no phone and no
// openid leaves it whole: both are masked in the receipt's own text and hashed with the configured key before anything
// is stored. What a receipt does to its delivery is the push log's business; a failed one triggers nothing by itself.
package receipts
