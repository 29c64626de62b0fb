package tencent

import (
	"context"
	"fmt"
	"strings"
	"time"

	sms "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/sms/v20210111"

	"pusher/internal/channels"
	"pusher/internal/push"
)

const (
	pullRate = 20                 // calls a second that Tencent allows an account
	pullMost = 100                // rows of one answer; there is no second page
	pullBack = 7 * 24 * time.Hour // Tencent tells nothing older

	// Tencent's clock may be behind ours.
	pullBefore = 10 * time.Minute
)

// Find asks whether Tencent has a carrier's report of the send that q is about. Only a row with our reference in its
// SessionContext counts: any other of the same number may be another message, and is a hint for people. Tencent gives
// the context only to accounts that have had it enabled, and no row at all before the carrier reports, so not found
// proves nothing, ever.
func (s *Sender) Find(ctx context.Context, q push.Question) (push.Finding, error) {
	ctx, cancel := channels.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	finding, err := s.find(ctx, q)
	return finding, s.secrets(push.Message{Recipient: q.Phone}).Failure(err)
}

// Count asks how many messages Tencent reports under the delivery's reference: more than one is one too many; none
// proves nothing.
func (s *Sender) Count(ctx context.Context, q push.Question) (int, error) {
	ctx, cancel := channels.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	rows, err := s.reports(ctx, q)
	if err != nil {
		return 0, s.secrets(push.Message{Recipient: q.Phone}).Failure(err)
	}
	serials := make(map[string]bool) // one message of several parts has as many rows
	for _, row := range rows {
		if row != nil && text(row.SessionContext) == q.Reference(q.Round) {
			serials[text(row.SerialNo)] = true
		}
	}
	return len(serials), nil
}

// reports are the carriers' reports to q's number.
func (s *Sender) reports(ctx context.Context, q push.Question) ([]*sms.PullSmsSendStatus, error) {
	if err := s.turn(ctx); err != nil {
		return nil, fmt.Errorf("waiting for a turn to ask: %w", err)
	}
	ctx, status := keepStatus(ctx)
	answer, err := s.client.PullSmsSendStatusByPhoneNumberWithContext(ctx, s.pull(q))
	if err != nil {
		return nil, s.failure(err, *status)
	}
	if answer.Response == nil {
		return nil, channels.Uncoded(*status)
	}
	return answer.Response.PullSmsSendStatusSet, nil
}

func (s *Sender) find(ctx context.Context, q push.Question) (push.Finding, error) {
	rows, err := s.reports(ctx, q)
	if err != nil {
		return push.Finding{}, err
	}
	reference := q.Reference(q.Round)
	for _, row := range rows {
		if row != nil && text(row.SessionContext) == reference {
			return push.Finding{Found: true, MessageID: text(row.SerialNo)}, nil
		}
	}
	secrets := s.secrets(push.Message{Recipient: q.Phone})
	return push.Finding{Hint: hint(rows, secrets)}, nil
}

// turn waits for a turn to ask, of this process's own and of all.
func (s *Sender) turn(ctx context.Context) error {
	if err := s.pulls.Wait(ctx); err != nil || s.cfg.Turns == nil {
		return err
	}
	return s.cfg.Turns.Wait(ctx)
}

// hinted is how many reports a hint quotes.
const hinted = 3

// hint tells of the reports that may be of the send in question: those without a context. One with another context is of
// another message for certain. Tencent's own id is as it is; the carrier's words are cleaned.
func hint(rows []*sms.PullSmsSendStatus, secrets channels.Secrets) string {
	var quotes []string
	for _, row := range rows {
		if row == nil || text(row.SessionContext) != "" {
			continue
		}
		at := "at an unknown time"
		if row.UserReceiveTime != nil {
			at = time.Unix(int64(*row.UserReceiveTime), 0).UTC().Format(time.RFC3339)
		}
		words := secrets.Clean(text(row.ReportStatus) + " " + text(row.Description))
		quotes = append(quotes, text(row.SerialNo)+" "+words+", "+at)
	}
	if len(quotes) == 0 {
		return ""
	}
	said := fmt.Sprintf("tencent reports %d to this number without a reference, perhaps this one: ", len(quotes))
	return said + strings.Join(quotes[:min(len(quotes), hinted)], "; ")
}

// pull is the question about q's number, from shortly before its intent until now.
func (s *Sender) pull(q push.Question) *sms.PullSmsSendStatusByPhoneNumberRequest {
	now := s.cfg.Now()
	from := q.IntentAt.Add(-pullBefore)
	if oldest := now.Add(-pullBack).Add(time.Minute); from.Before(oldest) {
		from = oldest
	}
	begin, end, offset, limit := uint64(from.Unix()), uint64(now.Unix())+1, uint64(0), uint64(pullMost)
	r := sms.NewPullSmsSendStatusByPhoneNumberRequest()
	r.BeginTime, r.EndTime, r.Offset, r.Limit = &begin, &end, &offset, &limit
	r.PhoneNumber, r.SmsSdkAppId = &q.Phone, &s.cfg.SDKAppID
	return r
}
