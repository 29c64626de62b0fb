package receipts

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha1" //nolint:gosec // WeChat's own choice
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// sameSignature reports, in a time that does not depend on the answer, whether given is WeChat's signature over parts:
// the SHA-1 of them sorted and joined.
func sameSignature(given string, parts ...string) bool {
	parts = slices.Sorted(slices.Values(parts))
	sum := sha1.Sum([]byte(strings.Join(parts, ""))) //nolint:gosec // WeChat's own choice
	return subtle.ConstantTimeCompare([]byte(given), []byte(hex.EncodeToString(sum[:]))) == 1
}

// padTo is the block that WeChat pads to: twice that of AES.
const padTo = 32

// prefix is what stands before the message: 16 random bytes and its length.
const prefix = 16 + 4

// errCipher says no more than that: what exactly is wrong helps only who forges.
var errCipher = errors.New("no message encrypted with our key for our account")

// cipherOf opens the messages of one account.
type cipherOf struct {
	block cipher.Block
	iv    []byte
	appID string
}

// newCipher reads an EncodingAESKey: base64 without its last sign.
func newCipher(aesKey, appID string) (*cipherOf, error) {
	key, err := base64.StdEncoding.DecodeString(aesKey + "=")
	if err != nil || len(key) != 32 {
		return nil, errors.New("reading receipts.wechat.encoding_aes_key: is no key of 43 characters, as the account's console shows it")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("reading receipts.wechat.encoding_aes_key: %w", err)
	}
	return &cipherOf{block: block, iv: key[:aes.BlockSize], appID: appID}, nil
}

// open decrypts a message that is signed: AES-256-CBC over random bytes, length, message and app id, padded.
func (c *cipherOf) open(encrypted string) ([]byte, error) {
	text, err := base64.StdEncoding.DecodeString(encrypted)
	if err != nil || len(text) == 0 || len(text)%aes.BlockSize != 0 {
		return nil, errCipher
	}
	cipher.NewCBCDecrypter(c.block, c.iv).CryptBlocks(text, text)
	pad := int(text[len(text)-1])
	if pad < 1 || pad > padTo || pad > len(text)-prefix {
		return nil, errCipher
	}
	text = text[:len(text)-pad]
	size := uint64(binary.BigEndian.Uint32(text[16:prefix]))
	if rest := uint64(len(text) - prefix); size > rest {
		return nil, errCipher
	}
	message, account := text[prefix:prefix+size], text[prefix+size:]
	if !bytes.Equal(account, []byte(c.appID)) {
		return nil, errCipher
	}
	return message, nil
}
