package wechat

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"pusher/internal/channels"
	"pusher/internal/push"
)

// verdict is what every answer may say of the call; a token's answer has none when all is well.
type verdict struct {
	ErrCode json.Number `json:"errcode"` // or a string of digits
	ErrMsg  string      `json:"errmsg"`
}

// code is the answer's code; false when it has none.
func (v verdict) code() (string, bool) {
	n, err := v.ErrCode.Int64()
	return strconv.FormatInt(n, 10), err == nil
}

// call posts body and returns the answer of a WeChat that said yes. Its error is a *push.Failure.
func (s *Sender) call(ctx context.Context, path string, body []byte) ([]byte, error) {
	text, status, err := s.once(ctx, path, body)
	if err != nil {
		return nil, err
	}
	var said verdict
	err = json.Unmarshal(text, &said)
	code, coded := said.code()
	if err != nil || !coded {
		return nil, channels.Uncoded(status)
	}
	if f := s.codes.Failure(code, said.ErrMsg, s.cfg.Now()); f.Class != push.Accepted {
		return nil, f
	}
	return text, nil
}

// once makes one request.
func (s *Sender) once(ctx context.Context, path string, body []byte) (text []byte, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, &push.Failure{Class: push.NotSent, Code: "request", Unsent: true, Err: err}
	}
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	return s.transport.Do(r)
}
