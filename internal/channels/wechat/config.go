package wechat

import (
	"fmt"
	"net/url"
	"time"

	"pusher/internal/channels"
)

// Provider is the sender's name in the push log.
const Provider = "wechat"

// Template is the template message of one push.
type Template struct {
	ID   string
	URL  string            // opened by a tap; a template over the event's variables; may be empty
	Data map[string]string // the message's fields, each a template over the event's variables
}

// Config is one official account.
type Config struct {
	Endpoint  string // full base URL; empty: the provider's own
	AppID     string
	AppSecret string
	Timeout   time.Duration       // of one send, its token included, beside the context's own; 0: the context's alone
	Templates map[string]Template // by biz_type
	Shorten   bool                // free text that is too long for its field is shortened instead of refused
	Ration    Ration              // of forced tokens, over all processes; nil: none is ever forced

	Now func() time.Time // [time.Now]
}

// Sender sends for one account. It is safe for concurrent use.
type Sender struct {
	cfg       Config
	base      *url.URL
	templates map[string]template
	codes     *channels.Table
	transport *channels.Transport
	tokens    *tokens
}

type template struct {
	id   string
	url  *channels.Text // nil for none
	data map[string]*channels.Text
}

// New makes a sender; the error names the setting or template that is wrong.
func New(cfg Config) (*Sender, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	base, err := channels.ParseEndpoint(cfg.Endpoint, "https://api.weixin.qq.com")
	if err != nil {
		return nil, fmt.Errorf("setting up wechat: %w", err)
	}
	table, err := channels.ReadTable(codes)
	if err != nil {
		return nil, fmt.Errorf("setting up wechat: %w", err)
	}
	s := &Sender{
		cfg: cfg, base: base, codes: table, transport: channels.NewTransport(),
		templates: make(map[string]template, len(cfg.Templates)),
	}
	s.tokens = newTokens(s.fetchToken, cfg.Ration, cfg.AppID, cfg.Now)
	for bizType, source := range cfg.Templates {
		if s.templates[bizType], err = compile(bizType, source); err != nil {
			return nil, fmt.Errorf("setting up wechat: %w", err)
		}
	}
	return s, nil
}

func compile(bizType string, source Template) (template, error) {
	t := template{id: source.ID}
	var err error
	if t.data, err = channels.CompileAll(bizType+".wechat.data", source.Data); err != nil {
		return t, err
	}
	if source.URL != "" {
		t.url, err = channels.Compile(bizType+".wechat.url", source.URL)
	}
	return t, err
}

// Variables lists the event's variables that the push's template names.
func (s *Sender) Variables(bizType string) []string {
	var names []string
	for _, text := range s.templates[bizType].data {
		names = append(names, text.Variables()...)
	}
	if link := s.templates[bizType].url; link != nil {
		names = append(names, link.Variables()...)
	}
	return names
}

// Serves reports whether the push has a template here.
func (s *Sender) Serves(bizType string) bool {
	_, known := s.templates[bizType]
	return known
}

// Provider is "wechat".
func (s *Sender) Provider() string { return Provider }

// Codes are the provider's own codes that have a meaning here.
func (s *Sender) Codes() []string { return s.codes.Codes() }

// TokenAge is how long ago the access token in use came; false while there is none.
func (s *Sender) TokenAge() (time.Duration, bool) { return s.tokens.age() }

// Close ends the fetch of a token, if one is under way, and closes the idle connections.
func (s *Sender) Close() {
	s.tokens.close()
	s.transport.Close()
}
