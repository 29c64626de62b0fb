package wechat

import (
	"context"
	"time"
)

const (
	// settle is how long another process may take to force a token, before the one of the moment is asked for again.
	settle = time.Second

	// inVain is how long no second token is forced by this process after one that WeChat refused as well: then it is not
	// the token that is wrong.
	inVain = 10 * time.Minute
)

// Ration deals out what all processes of an account share: forced tokens are few a day, and one kills the token of
// all others.
type Ration interface {
	// Take uses up one of the account's forced tokens. A wait means that none is to be had for so long.
	Take(ctx context.Context, account string) (wait time.Duration, err error)
}

// forced replaces a token that WeChat gives out and refuses. It is used by one fetch at a time.
type forced struct {
	ration  Ration // nil: nothing is ever forced
	account string
	now     func() time.Time
	settle  time.Duration

	last string // the token forced last
	at   time.Time
}

// replace gets a token for the dead one that WeChat still gives out. Where none may be forced it is the dead one,
// which a later send tries again; life is how long that one is said to live.
func (f *forced) replace(ctx context.Context, dead string, life time.Duration, fetch fetcher) (string, time.Duration, error) {
	if f.ration == nil || dead == f.last && f.now().Sub(f.at) < inVain {
		return dead, life, nil
	}
	wait, err := f.ration.Take(ctx, f.account)
	switch {
	case err != nil: // without the shared count nobody forces
		return dead, life, nil //nolint:nilerr // the token's own refusal is what its user will hear of
	case wait > 0:
		return f.others(ctx, dead, life, fetch)
	}
	token, life, err := fetch(ctx, true)
	if err == nil {
		f.last, f.at = token, f.now()
	}
	return token, life, err
}

// others asks once more for the token of the moment: another process may be forcing it right now.
func (f *forced) others(ctx context.Context, dead string, life time.Duration, fetch fetcher) (string, time.Duration, error) {
	timer := time.NewTimer(f.settle)
	defer timer.Stop()
	select {
	case <-timer.C:
		return fetch(ctx, false)
	case <-ctx.Done():
		return dead, life, nil
	}
}
