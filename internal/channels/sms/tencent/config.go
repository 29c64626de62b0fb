package tencent

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common"
	"github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/profile"
	sms "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/sms/v20210111"

	"pusher/internal/channels"
)

// Provider is the sender's name in the push log.
const Provider = "tencent"

// Template is the registered template of one push.
type Template struct {
	ID     string
	Params []string // its variables by position, each a template over the event's variables
}

// Turns lets one question go, when it is its turn among all that are put to the account.
type Turns interface {
	Wait(ctx context.Context) error
}

// Config is one account and application.
type Config struct {
	Endpoint  string // full base URL; empty: the provider's own
	Region    string // [ap-guangzhou]
	SecretID  string
	SecretKey string
	SDKAppID  string
	SignName  string              // the approved signature's text
	Timeout   time.Duration       // of one request, beside the context's own; 0: the context's alone
	Templates map[string]Template // by biz_type
	Values    channels.Limit      // what a variable may be
	Turns     Turns               // of questions, over all processes; nil: this process keeps to the limit alone

	Now func() time.Time // for waits until a limit ends [time.Now]; signatures take the system's clock
}

// Sender sends through one account. It is safe for concurrent use.
type Sender struct {
	cfg       Config
	client    *sms.Client
	templates map[string]template
	codes     *channels.Table
	transport *channels.Transport
	pulls     *channels.Turns // of Find
}

type template struct {
	id     string
	params []*channels.Text
}

// New makes a sender; the error names the setting or template that is wrong.
func New(cfg Config) (*Sender, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Region == "" {
		cfg.Region = "ap-guangzhou"
	}
	table, err := channels.ReadTable(codes)
	if err != nil {
		return nil, fmt.Errorf("setting up tencent: %w", err)
	}
	s := &Sender{
		cfg: cfg, codes: table, transport: channels.NewTransport(),
		templates: make(map[string]template, len(cfg.Templates)),
		pulls:     channels.NewTurns(pullRate),
	}
	if s.client, err = newClient(cfg, s.transport); err != nil {
		return nil, fmt.Errorf("setting up tencent: %w", err)
	}
	for bizType, source := range cfg.Templates {
		compiled := template{id: source.ID}
		for i, param := range source.Params {
			text, err := channels.Compile(bizType+".sms.tencent.params."+strconv.Itoa(i), param)
			if err != nil {
				return nil, fmt.Errorf("setting up tencent: %w", err)
			}
			compiled.params = append(compiled.params, text)
		}
		s.templates[bizType] = compiled
	}
	return s, nil
}

// newClient sets up the official client so that it makes one request a call: its own retries, its breaker, which
// would go on to another domain, and its timeout in whole seconds are off.
func newClient(cfg Config, transport http.RoundTripper) (*sms.Client, error) {
	base, err := channels.ParseEndpoint(cfg.Endpoint, "https://sms.tencentcloudapi.com")
	if err != nil {
		return nil, err
	}
	settings := profile.NewClientProfile()
	settings.DisableRegionBreaker = true
	settings.NetworkFailureMaxRetries = 0
	settings.RateLimitExceededMaxRetries = 0
	settings.UnsafeRetryOnConnectionFailure = false // an idempotency header would make net/http replay
	settings.HttpProfile.ReqTimeout = 0
	settings.HttpProfile.Scheme = strings.ToUpper(base.Scheme)
	settings.HttpProfile.Endpoint = base.Host + base.Path
	client, err := sms.NewClient(common.NewCredential(cfg.SecretID, cfg.SecretKey), cfg.Region, settings)
	if err != nil {
		return nil, err
	}
	client.WithHttpTransport(statusKeeper{transport})
	return client, nil
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

// Provider is "tencent".
func (s *Sender) Provider() string { return Provider }

// Codes are the provider's own codes that have a meaning here.
func (s *Sender) Codes() []string { return s.codes.Codes() }

// Close closes the idle connections.
func (s *Sender) Close() { s.transport.Close() }
