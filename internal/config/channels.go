package config

import "time"

// Channels holds the providers of each action.
type Channels struct {
	Notify  NotifyChannel `yaml:"notify"`
	SMS     SMSChannel    `yaml:"sms"`
	WeChat  WeChatChannel `yaml:"wechat"`
	Breaker Breaker       `yaml:"breaker"`

	// ProbeAfter is how long a stop of an account or template lasts at most before one message probes it [5m].
	ProbeAfter time.Duration `yaml:"probe_after"`
}

// Breaker says when nothing is sent to a provider any more because it fails: it cannot be reached, does not answer in
// time, or gives no answer that can be read. It is the same for every provider, and each has its own.
type Breaker struct {
	Pause    time.Duration `yaml:"pause"`    // then a few messages probe it; 0 for no breaker [15s]
	Share    float64       `yaml:"share"`    // of the requests of ten seconds that must have failed [0.5]
	Requests int           `yaml:"requests"` // of those ten seconds, before anything is concluded [20]
}

// NotifyChannel is the in-app inbox; it needs no provider.
type NotifyChannel struct {
	Timeout time.Duration `yaml:"timeout"` // [5s]
}

// SMSChannel is text messages, by one or more providers.
type SMSChannel struct {
	Timeout     time.Duration `yaml:"timeout"`      // of one request [5s]
	AskFor      time.Duration `yaml:"ask_for"`      // how long an unknown send is asked about before when_unknown decides [15m]
	Providers   []string      `yaml:"providers"`    // in order of preference [those of aliyun, tencent that have keys]
	WhenUnknown string        `yaml:"when_unknown"` // hold or resend [hold]
	HoldMax     time.Duration `yaml:"hold_max"`     // then dead, with a letter [72h]
	Shorten     bool          `yaml:"shorten"`      // variables over max_variable are shortened, not refused [false]
	Aliyun      Aliyun        `yaml:"aliyun"`
	Tencent     Tencent       `yaml:"tencent"`
}

// Aliyun is one account of Alibaba Cloud SMS.
type Aliyun struct {
	Endpoint        string  `yaml:"endpoint"` // full base URL; empty for the region's own
	Region          string  `yaml:"region"`   // [cn-hangzhou]
	AccessKeyID     string  `yaml:"access_key_id"`
	AccessKeySecret Secret  `yaml:"access_key_secret"`
	SignName        string  `yaml:"sign_name"`
	Rate            float64 `yaml:"rate"`         // requests a second over all instances; 0 for no limit
	MaxVariable     int     `yaml:"max_variable"` // characters of one variable; 0 for no limit [35]
	AllowURLs       bool    `yaml:"allow_urls"`   // in variables: only templates of that kind take them [false]
}

// Tencent is one account of Tencent Cloud SMS.
type Tencent struct {
	Endpoint  string  `yaml:"endpoint"` // full base URL; empty for the provider's own
	Region    string  `yaml:"region"`   // [ap-guangzhou]
	SecretID  string  `yaml:"secret_id"`
	SecretKey Secret  `yaml:"secret_key"`
	SDKAppID  string  `yaml:"sdk_app_id"`
	SignName  string  `yaml:"sign_name"`
	Rate      float64 `yaml:"rate"` // requests a second over all instances; 0 for no limit
	// MaxVariable is in characters of one variable; accounts opened since 2024 have 6 until they ask for more [0, no limit].
	MaxVariable int  `yaml:"max_variable"`
	AllowURLs   bool `yaml:"allow_urls"` // in variables [false]
}

// WeChatChannel is template messages of one official account.
type WeChatChannel struct {
	Timeout      time.Duration `yaml:"timeout"`       // of one request [5s]
	ResendWithin time.Duration `yaml:"resend_within"` // repeats of an ambiguous send; below the provider's 10m [9m]
	WhenUnknown  string        `yaml:"when_unknown"`  // hold or resend [hold]
	HoldMax      time.Duration `yaml:"hold_max"`      // then dead, with a letter [72h]
	Shorten      bool          `yaml:"shorten"`       // free text too long for its field is shortened, not refused [false]
	Endpoint     string        `yaml:"endpoint"`      // full base URL; empty for the provider's own
	AppID        string        `yaml:"app_id"`
	AppSecret    Secret        `yaml:"app_secret"`
	Rate         float64       `yaml:"rate"` // requests a second over all instances; 0 for no limit
}
