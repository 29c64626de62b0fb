package wechat

import (
	"context"
	"encoding/json"
	"time"

	"pusher/internal/channels"
	"pusher/internal/push"
)

// fetchToken asks stable_token for the access token of the moment, or for a new one. Whatever goes wrong, the message itself was not
// sent: the failure is never ambiguous and never the end of a message.
func (s *Sender) fetchToken(ctx context.Context, force bool) (string, time.Duration, error) {
	body, _ := json.Marshal(map[string]any{ // strings and a boolean
		"grant_type": "client_credential", "appid": s.cfg.AppID, "secret": s.cfg.AppSecret, "force_refresh": force,
	})
	text, status, err := s.once(ctx, "/cgi-bin/stable_token", body)
	if err != nil {
		return "", 0, noToken(push.FailureOf(err))
	}
	var answer struct {
		verdict

		AccessToken string      `json:"access_token"`
		ExpiresIn   json.Number `json:"expires_in"` // seconds
	}
	if json.Unmarshal(text, &answer) == nil {
		code, coded := answer.code()
		life, err := answer.ExpiresIn.Int64()
		switch {
		case answer.AccessToken != "" && err == nil && life > 0:
			return answer.AccessToken, time.Duration(life) * time.Second, nil
		case coded && code != "0":
			return "", 0, refusedToken(s.codes.Failure(code, answer.ErrMsg, s.cfg.Now()))
		}
	}
	return "", 0, noToken(channels.Uncoded(status))
}

// noToken is what a token call without an answer means for the message that wanted the token: it was not sent.
func noToken(f *push.Failure) *push.Failure {
	f.Class, f.Scope, f.Unsent = push.NotSent, push.ScopeChannel, true
	f.Code = "token_" + f.Code
	return f
}

// refusedToken is what a refused token call means for the message that wanted the token. It waits no longer than the
// tokens themselves do: they find out when the refusal is over.
func refusedToken(f *push.Failure) *push.Failure {
	f.Wait = min(f.Wait, maxHold)
	switch f.Class {
	case push.Throttled, push.Account:
	case push.Permanent:
		f.Class, f.Scope = push.Account, push.ScopeAccount
	case push.Ambiguous, push.NotSent, push.Accepted:
		f.Class, f.Scope, f.Unsent = push.NotSent, push.ScopeChannel, true
	}
	return f
}
