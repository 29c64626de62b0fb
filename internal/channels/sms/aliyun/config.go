package aliyun

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"time"

	"pusher/internal/channels"
)

// Provider is the sender's name in the push log.
const Provider = "aliyun"

// Template is the registered template of one push.
type Template struct {
	Code   string            // SMS_...
	Params map[string]string // its variables, each a template over the event's variables
}

// Config is one account.
type Config struct {
	Endpoint        string // full base URL; empty: the region's own
	Region          string // chooses the endpoint when Endpoint is empty; most regions share the central one
	AccessKeyID     string
	AccessKeySecret string
	SignName        string              // the approved signature
	Timeout         time.Duration       // of one request, beside the context's own; 0: the context's alone
	Templates       map[string]Template // by biz_type
	Values          channels.Limit      // what a variable may be

	Now func() time.Time // [time.Now]
}

const central = "https://dysmsapi.aliyuncs.com"

// ownEndpoint is the endpoint of a region, as the provider's own clients map them.
func ownEndpoint(region string) string {
	switch region {
	case "ap-southeast-1", "ap-southeast-5", "eu-central-1", "us-east-1":
		return "https://dysmsapi." + region + ".aliyuncs.com"
	case "cn-beijing":
		return "https://dysmsapi-proxy.cn-beijing.aliyuncs.com"
	case "cn-hongkong":
		return "https://dysmsapi-xman.cn-hongkong.aliyuncs.com"
	}
	return central
}

// Sender sends through one account. It is safe for concurrent use.
type Sender struct {
	cfg       Config
	base      *url.URL
	templates map[string]template
	codes     *channels.Table
	transport *channels.Transport
	nonce     func() string // never the same twice
	questions *channels.Turns
}

type template struct {
	code   string
	params map[string]*channels.Text
}

// New makes a sender; the error names the setting or template that is wrong.
func New(cfg Config) (*Sender, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	base, err := channels.ParseEndpoint(cfg.Endpoint, ownEndpoint(cfg.Region))
	if err != nil {
		return nil, fmt.Errorf("setting up aliyun: %w", err)
	}
	table, err := channels.ReadTable(codes)
	if err != nil {
		return nil, fmt.Errorf("setting up aliyun: %w", err)
	}
	s := &Sender{
		cfg: cfg, base: base, codes: table, transport: channels.NewTransport(), nonce: rand.Text, questions: channels.NewTurns(askRate),
		templates: make(map[string]template, len(cfg.Templates)),
	}
	for bizType, source := range cfg.Templates {
		params, err := channels.CompileAll(bizType+".sms.aliyun.params", source.Params)
		if err != nil {
			return nil, fmt.Errorf("setting up aliyun: %w", err)
		}
		s.templates[bizType] = template{source.Code, params}
	}
	return s, nil
}

// Variables lists the event's variables that the push's template names.
func (s *Sender) Variables(bizType string) []string {
	var names []string
	for _, text := range s.templates[bizType].params {
		names = append(names, text.Variables()...)
	}
	return names
}

// Serves reports whether the push has a template here.
func (s *Sender) Serves(bizType string) bool {
	_, known := s.templates[bizType]
	return known
}

// Provider is "aliyun".
func (s *Sender) Provider() string { return Provider }

// Codes are the provider's own codes that have a meaning here.
func (s *Sender) Codes() []string { return s.codes.Codes() }

// Close closes the idle connections.
func (s *Sender) Close() { s.transport.Close() }
