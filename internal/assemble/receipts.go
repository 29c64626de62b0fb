package assemble

import (
	"context"
	"time"

	"pusher/internal/push"
	"pusher/internal/receipts"
	"pusher/internal/store"
	"pusher/internal/telemetry"
)

// receipts hangs the providers' doors. They are there from the first moment on: before the push log is, a provider is
// asked to come again.
func (p *Pusher) receipts() error {
	r := p.cfg.Receipts
	allow, proxies := r.Prefixes()
	doors, err := receipts.New(receipts.Config{
		SecretPath: r.SecretPath.Reveal(), Allow: allow, Proxies: proxies,
		WeChat: receipts.WeChat{
			Token: r.WeChat.Token.Reveal(), AESKey: r.WeChat.EncodingAESKey.Reveal(), AppID: p.cfg.Channels.WeChat.AppID,
		},
		Region: p.cfg.Phone.Region, HashKey: []byte(p.cfg.Privacy.HashKey.Reveal()),
		Log: telemetry.Repeats(p.log), Meter: p.metrics, Now: time.Now,
	}, lateLog{p.ready})
	if err != nil {
		return err
	}
	doors.Hang(p.http.Mux)
	return nil
}

// lateLog is the push log once it is connected.
type lateLog struct{ ready *readiness }

func (l lateLog) log() (*store.Store, error) {
	l.ready.mu.Lock()
	defer l.ready.mu.Unlock()
	if l.ready.store == nil {
		return nil, errStarting
	}
	return l.ready.store, nil
}

// KeepReceipts stores receipts as they came.
func (l lateLog) KeepReceipts(ctx context.Context, list []push.Receipt) ([]push.Kept, error) {
	log, err := l.log()
	if err != nil {
		return nil, err
	}
	return log.KeepReceipts(ctx, list)
}

// MatchReceipts brings receipts to their deliveries.
func (l lateLog) MatchReceipts(ctx context.Context, limit int, ids []int64) ([]push.Matched, int, error) {
	log, err := l.log()
	if err != nil {
		return nil, 0, err
	}
	return log.MatchReceipts(ctx, limit, ids)
}
