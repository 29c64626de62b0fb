package aliyun

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"pusher/internal/channels"
	"pusher/internal/push"
)

const (
	// askRate is a fifth of the questions a second that Aliyun allows an account: five passes at once, which nobody runs,
	// stay within it.
	askRate = 1000

	pageSize = 50 // the most that Aliyun gives
	maxPages = 20 // of one number and day; nobody gets a thousand messages a day

	// A send is listed under the day in Beijing on which Aliyun took it, by Aliyun's clock: near midnight that may not
	// be the day of our intent.
	before = 10 * time.Minute
	after  = time.Hour
)

// details is the answer of QuerySendDetails.
type details struct {
	TotalCount json.Number // or a string of digits
	List       struct {
		Rows []struct {
			OutID string `json:"OutId"`
		} `json:"SmsSendDetailDTO"`
	} `json:"SmsSendDetailDTOs"`
}

// Find asks whether Aliyun took the send that q is about, by its OutId. Found is certain; not found proves nothing,
// least of all soon after the send. The rows carry no id of the message, so there is none in the finding.
func (s *Sender) Find(ctx context.Context, q push.Question) (push.Finding, error) {
	reference := q.Reference(q.Round)
	for _, day := range days(q.IntentAt) {
		found, err := s.findOn(ctx, day, wirePhone(q.Phone), reference)
		if found || err != nil {
			return push.Finding{Found: found}, s.secrets(push.Message{Recipient: q.Phone}).Failure(err)
		}
	}
	return push.Finding{}, nil
}

// days are the days in Beijing, as the query wants them, that a send with this intent may be listed under.
func days(intent time.Time) []string {
	var list []string
	for _, at := range []time.Time{intent, intent.Add(-before), intent.Add(after)} {
		day := at.In(channels.Beijing()).Format("20060102")
		if len(list) == 0 || list[len(list)-1] != day && list[0] != day {
			list = append(list, day)
		}
	}
	return list
}

func (s *Sender) findOn(ctx context.Context, day, phone, reference string) (found bool, err error) {
	err = s.listed(ctx, day, phone, func(outID string) (goOn bool) {
		found = outID == reference
		return !found
	})
	return found, err
}

// Count asks how many messages Aliyun took under the delivery's reference, on the days that q's intent may be listed
// under: more than one is one too many. What was taken a moment ago may not be listed yet.
func (s *Sender) Count(ctx context.Context, q push.Question) (n int, err error) {
	reference := q.Reference(q.Round)
	for _, day := range days(q.IntentAt) {
		err := s.listed(ctx, day, wirePhone(q.Phone), func(outID string) (goOn bool) {
			if outID == reference {
				n++
			}
			return true
		})
		if err != nil {
			return 0, s.secrets(push.Message{Recipient: q.Phone}).Failure(err)
		}
	}
	return n, nil
}

// listed hands the OutId of each message to a number on a day to each, until that has seen enough.
func (s *Sender) listed(ctx context.Context, day, phone string, each func(outID string) (goOn bool)) error {
	for page := 1; page <= maxPages; page++ {
		if err := s.questions.Wait(ctx); err != nil {
			return fmt.Errorf("waiting for a turn to ask: %w", err)
		}
		text, err := s.call(ctx, "QuerySendDetails", map[string]string{
			"PhoneNumber": phone, "SendDate": day,
			"PageSize": strconv.Itoa(pageSize), "CurrentPage": strconv.Itoa(page),
		})
		if err != nil {
			return err
		}
		var answer details
		if err := json.Unmarshal(text, &answer); err != nil {
			return fmt.Errorf("reading the send details: %w", err)
		}
		for _, row := range answer.List.Rows {
			if !each(row.OutID) {
				return nil
			}
		}
		total, _ := answer.TotalCount.Int64() // unreadable: the page that is empty ends it
		if len(answer.List.Rows) == 0 || total > 0 && int64(page*pageSize) >= total {
			return nil
		}
	}
	return nil
}
