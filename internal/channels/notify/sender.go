// Package notify writes the in-app message. It does no input or output: the store commits the message with the
// delivery's result (rule P1), so this channel can neither lose nor double one.
package notify

import (
	"context"
	"fmt"

	"pusher/internal/channels"
	"pusher/internal/push"
)

// Provider is the sender's name in the push log.
const Provider = "inbox"

// Template is the in-app message of one push; both texts are templates over the event's variables.
type Template struct {
	Title string
	Body  string
}

// Config says what each push's message is.
type Config struct {
	Templates map[string]Template // by biz_type
}

// Sender writes in-app messages.
type Sender struct {
	texts map[string]texts
}

type texts struct{ title, body *channels.Text }

// New compiles the templates; the error names the one that does not compile.
func New(cfg Config) (*Sender, error) {
	s := &Sender{texts: make(map[string]texts, len(cfg.Templates))}
	for bizType, source := range cfg.Templates {
		title, err := channels.Compile(bizType+".notify.title", source.Title)
		if err != nil {
			return nil, fmt.Errorf("reading the templates of %s: %w", bizType, err)
		}
		body, err := channels.Compile(bizType+".notify.body", source.Body)
		if err != nil {
			return nil, fmt.Errorf("reading the templates of %s: %w", bizType, err)
		}
		s.texts[bizType] = texts{title, body}
	}
	return s, nil
}

// Variables lists the event's variables that the push's message names.
func (s *Sender) Variables(bizType string) []string {
	texts, known := s.texts[bizType]
	if !known {
		return nil
	}
	return append(texts.title.Variables(), texts.body.Variables()...)
}

// Serves reports whether the push has a template here.
func (s *Sender) Serves(bizType string) bool {
	_, known := s.texts[bizType]
	return known
}

// Provider is "inbox".
func (s *Sender) Provider() string { return Provider }

// Send writes the message of m into the acceptance's Inbox. Its error is a *push.Failure.
func (s *Sender) Send(_ context.Context, m push.Message) (push.Acceptance, error) {
	inbox, err := s.write(m)
	if err != nil {
		return push.Acceptance{}, channels.SecretsOf(m).Failure(err)
	}
	return push.Acceptance{Provider: Provider, Inbox: inbox}, nil
}

// Preview writes the message of m, as JSON, and keeps nothing.
func (s *Sender) Preview(m push.Message) ([]byte, error) {
	inbox, err := s.write(m)
	if err != nil {
		return nil, channels.SecretsOf(m).Failure(err)
	}
	return channels.JSON(map[string]string{"user_id": inbox.UserID, "title": inbox.Title, "body": inbox.Body}), nil
}

func (s *Sender) write(m push.Message) (*push.Inbox, error) {
	texts, known := s.texts[m.BizType]
	if !known {
		return nil, channels.NoTemplate(m.BizType)
	}
	title, err := texts.title.Render(m.Vars)
	if err != nil {
		return nil, err
	}
	body, err := texts.body.Render(m.Vars)
	if err != nil {
		return nil, err
	}
	return &push.Inbox{UserID: m.Recipient, Title: title, Body: body, Data: data(m.Vars)}, nil
}

// data is the event's variables as the app gets them.
func data(vars map[string]string) []byte {
	if len(vars) == 0 {
		return []byte("{}")
	}
	return channels.JSON(vars)
}
