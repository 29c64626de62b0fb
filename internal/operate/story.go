package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pusher/internal/push"
)

// otherRounds is how many rows of the same name a story mentions.
const otherRounds = 20

// Story is all that is known of one delivery.
type Story struct {
	push.Entry

	Attempts  []push.Attempt // the current one last
	Receipts  []push.Heard   // what its provider said later, oldest first
	Actions   []push.Done    // what operators did to it, oldest first
	Reference string         // by which the provider knows it
	Redis     string         // what its key says, in words; empty where nobody reads keys
	RedisKey  *Key           // the same; nil where it could not be read
	Means     string         // what the status says
	Route     string         // who sent it, and why not the ones before; empty where one provider had it all along
	Next      string         // what happens next, and when
	Says      Phrase         // Means, for other languages
	Went      Phrase         // Route, likewise
	Follows   Phrase         // Next, likewise
	Others    []int64        // older rows of the same name: other rounds, other versions
}

// Named tells the story of the newest delivery that a filter finds; push.ErrNotFound when it finds none.
func (d *Desk) Named(ctx context.Context, f push.Filter) (Story, error) {
	var found []push.Entry
	for before := int64(0); len(found) == 0; {
		page, err := d.Reader.List(ctx, f, before, otherRounds)
		if err != nil {
			return Story{}, err
		}
		if found, before = page.Entries, page.Next; len(found) == 0 && before == 0 {
			return Story{}, push.ErrNotFound
		}
	}
	s, err := d.Explain(ctx, found[0].ID)
	for _, other := range found[1:] {
		s.Others = append(s.Others, other.ID)
	}
	return s, err
}

// Explain tells the story of one delivery; push.ErrNotFound when there is none.
func (d *Desk) Explain(ctx context.Context, id int64) (Story, error) {
	entry, attempts, err := d.Reader.Show(ctx, id)
	if err != nil {
		return Story{}, err
	}
	s := Story{Entry: entry, Attempts: attempts, Reference: entry.Reference(entry.Round), Says: Means(entry)}
	var failed [2]error
	s.Receipts, failed[0] = d.Reader.Receipts(ctx, id)
	s.Actions, failed[1] = d.Reader.ActionsOn(ctx, id)
	if err := errors.Join(failed[:]...); err != nil {
		return Story{}, err
	}
	s.Follows = d.Next(entry, stopped(attempts))
	s.Went = Route(entry, attempts)
	s.Route = s.Went.English(d.cfg.Now())
	s.Means, s.Next = s.Says.English(d.cfg.Now()), s.Follows.English(d.cfg.Now())
	if d.Keys != nil {
		s.RedisKey, s.Redis = d.key(ctx, entry.Key())
	}
	return s, nil
}

// key says what Redis holds; its absence hides nothing, since the row decides.
func (d *Desk) key(ctx context.Context, key string) (*Key, string) {
	k, err := d.Keys.Look(ctx, key)
	if err != nil {
		return nil, "not read: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return &k, k.Words()
}

// Words says what a key says, for people.
func (k Key) Words() string {
	switch {
	case k.Foreign:
		return "something else stands under this key; the next claim replaces it"
	case k.State == push.KeyAbsent:
		return "absent: the push log alone decides"
	case k.State == push.KeyProcessing && k.LeaseLeft > 0:
		return fmt.Sprintf("processing, owner %s, lease for another %s", k.Owner, Span(k.LeaseLeft))
	case k.State == push.KeyProcessing:
		return fmt.Sprintf("processing, owner %s, lease over: whoever claims next takes over", k.Owner)
	}
	return fmt.Sprintf("%s, attempt %d, kept for another %s", k.State, k.Attempt, Span(k.TTL))
}

// stopped reports whether the last attempt met a stop of the whole account: only a person can end that.
func stopped(attempts []push.Attempt) bool {
	return len(attempts) > 0 && attempts[len(attempts)-1].Outcome == push.Account.String()
}
