package main

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"pusher/internal/operate"
	"pusher/internal/push"
)

// filterFlags narrow a list, a deed or an export; a zero one does not.
type filterFlags struct {
	bizType, bizID, action, userID, recipient, provider, errorCode string
	statuses                                                       []string
	from, to                                                       string
	since                                                          time.Duration
}

// add puts the flags onto a command.
func (f *filterFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.bizType, "biz-type", "", "only of this biz_type")
	flags.StringVar(&f.bizID, "biz-id", "", "only of this biz_id")
	flags.StringVar(&f.action, "action", "", "only of this channel: notify, sms or wechat")
	flags.StringVar(&f.userID, "user-id", "", "only to this user")
	flags.StringVar(&f.recipient, "recipient", "", "only to this phone or openid: whole, or masked as list shows it")
	flags.StringVar(&f.provider, "provider", "", "only by this provider: aliyun, tencent or wechat")
	flags.StringVar(&f.errorCode, "error-code", "", "only with this error")
	flags.StringSliceVar(&f.statuses, "status", nil, "only in these statuses, such as failed,unknown")
	flags.StringVar(&f.from, "from", "", "only those created at or after this time: RFC 3339, 2026-01-02 15:04:05 in UTC, or how long ago, such as 20m")
	flags.StringVar(&f.to, "to", "", "only those created before this time, such as 20m ago: 20m")
	flags.DurationVar(&f.since, "since", 0, "only those created within this time, such as 24h")
}

// isZero reports whether no flag was given.
func (f *filterFlags) isZero() bool {
	none := filterFlags{statuses: f.statuses}
	return len(f.statuses) == 0 && reflect.DeepEqual(*f, none)
}

// filter reads the flags; the error names the one that makes no sense.
func (f *filterFlags) filter(now time.Time) (push.Filter, error) {
	filter := push.Filter{
		Identity: push.Identity{BizType: f.bizType, Action: push.Action(f.action)},
		BizID:    f.bizID, UserID: f.userID, Provider: f.provider, ErrorCode: f.errorCode,
	}
	for _, name := range f.statuses {
		if !slices.Contains(push.Statuses(), push.Status(name)) {
			return filter, fmt.Errorf("--status %q is none of %v", name, push.Statuses())
		}
		filter.Statuses = append(filter.Statuses, push.Status(name))
	}
	var err error
	if filter.From, err = momentOf("--from", f.from, now); err != nil {
		return filter, err
	}
	if filter.To, err = momentOf("--to", f.to, now); err != nil {
		return filter, err
	}
	switch {
	case f.since < 0:
		return filter, fmt.Errorf("--since %s is in the future", f.since)
	case f.since > 0 && f.from != "":
		return filter, fmt.Errorf("--since and --from both say where to begin: use one of them")
	case f.since > 0:
		filter.From = now.Add(-f.since)
	}
	return filter, nil
}

// toRecipient adds the recipient, which takes the desk to understand.
func (f *filterFlags) toRecipient(desk *operate.Desk, filter push.Filter) push.Filter {
	return desk.Recipient(filter, f.recipient)
}

// momentOf reads a time, or how long ago it is; empty is none.
func momentOf(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return t, nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, fmt.Errorf("%s %q is no time such as 2026-01-02T15:04:05+08:00, 2026-01-02 15:04:05 (UTC) or 20m (ago)", flag, text)
}

// named reads the name of one delivery: BIZ_TYPE BIZ_ID ACTION, its key, or its row id.
func named(args []string) (push.Filter, error) {
	var f push.Filter
	switch len(args) {
	case 1:
		if id, err := strconv.ParseInt(args[0], 10, 64); err == nil && id > 0 {
			f.IDs = []int64{id}
			return f, nil
		}
		id, err := push.ParseKey(args[0])
		f.Identity = id
		if err != nil {
			return f, fmt.Errorf("neither a row id nor a key: %w", err)
		}
		return f, nil
	case 3:
		f.Identity = push.Identity{BizType: args[0], Action: push.Action(args[2])}
		f.BizID = args[1]
		return f, nil
	}
	return f, fmt.Errorf("a delivery is named by BIZ_TYPE BIZ_ID ACTION, by its key or by its row id; %d words are given", len(args))
}
