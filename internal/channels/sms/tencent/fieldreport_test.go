package tencent_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"pusher/internal/channels/channeltest"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// The sandbox recomputes the signature from what came over the wire, by code of its own.
func TestFieldReport31_SignatureBearsSpecialCharacters(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	sender := newSender(t, config(box.URL()))
	for _, value := range []string{" ", "+ * ~ ! ' ( ) % & =", "a+b c", "%20%2B", "厨师", "😀", "<&>\"\\/?#[]@:;,$", "\u2028"} {
		m := message()
		m.Vars["company"] = value
		if _, err := sender.Send(context.Background(), m); err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		entries := box.Journal().Entries()
		var params []string
		if err := json.Unmarshal(entries[len(entries)-1].Params, &params); err != nil || params[0] != value {
			t.Errorf("%q arrived as %q", value, params)
		}
	}
}

// A wrong secret and a wrong clock are the account's, not the message's.
func TestFieldReport31_SignatureErrorStopsTheAccount(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	secret := config(box.URL())
	secret.SecretKey = "another-secret"
	late := channeltest.NewSandbox(t, provider.Config{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	for code, cfg := range map[string]string{
		"AuthFailure.SignatureFailure": box.URL(), "AuthFailure.SignatureExpire": late.URL(),
	} {
		chosen := secret
		if cfg == late.URL() {
			chosen = config(cfg)
		}
		_, err := newSender(t, chosen).Send(context.Background(), message())
		if f := channeltest.Failure(t, err); f.Class != push.Account || f.Code != code || f.Class.UsesRetry() {
			t.Errorf("%v, want an account stop by %s", f, code)
		}
	}
	if box.Journal().Total("") != 0 {
		t.Error("a refusal was accepted")
	}
}

func TestFieldReport28_WhatNeverLeftIsProven(t *testing.T) {
	t.Parallel()
	for code, endpoint := range map[string]string{"dial": "http://127.0.0.1:1", "dns": "http://nobody.invalid"} {
		_, err := newSender(t, config(endpoint)).Send(context.Background(), message())
		if f := channeltest.Failure(t, err); f.Class != push.NotSent || !f.Unsent || f.Code != code {
			t.Errorf("%v, want not sent, with proof, code %s", f, code)
		}
	}
}
