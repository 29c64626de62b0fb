package aliyun

import (
	"context"
	"encoding/json"
	"strings"

	"pusher/internal/channels"
	"pusher/internal/push"
)

// Send sends one message. Its error is a *push.Failure.
func (s *Sender) Send(ctx context.Context, m push.Message) (push.Acceptance, error) {
	id, err := s.send(ctx, m)
	if err != nil {
		return push.Acceptance{}, s.secrets(m).Failure(err)
	}
	return push.Acceptance{Provider: Provider, MessageID: id}, nil
}

func (s *Sender) send(ctx context.Context, m push.Message) (string, error) {
	params, err := s.request(m)
	if err != nil {
		return "", err
	}
	text, err := s.call(ctx, "SendSms", params)
	if err != nil {
		return "", err
	}
	var answer struct {
		BizID channels.ID `json:"BizId"`
	}
	_ = json.Unmarshal(text, &answer) // an acceptance whose id cannot be read is one
	return string(answer.BizID), nil
}

// Preview writes the request that m would be, as JSON, and sends nothing.
func (s *Sender) Preview(m push.Message) ([]byte, error) {
	params, err := s.request(m)
	if err != nil {
		return nil, s.secrets(m).Failure(err)
	}
	return channels.JSON(params), nil
}

// Writes reports whether m can be written within the rules of its template and account.
func (s *Sender) Writes(m push.Message) bool {
	_, err := s.request(m)
	return err == nil
}

// request writes m as the parameters of SendSms.
func (s *Sender) request(m push.Message) (map[string]string, error) {
	template, known := s.templates[m.BizType]
	if !known {
		return nil, channels.NoTemplate(m.BizType)
	}
	values, err := channels.RenderAll(template.params, m.Vars, func(string) channels.Check { return s.cfg.Values.Check })
	if err != nil {
		return nil, err
	}
	params := map[string]string{
		"PhoneNumbers": wirePhone(m.Recipient),
		"SignName":     s.cfg.SignName,
		"TemplateCode": template.code,
		"OutId":        m.Reference,
	}
	if len(values) > 0 {
		params["TemplateParam"] = string(channels.JSON(values))
	}
	return params, nil
}

// secrets are what no error about m may show.
func (s *Sender) secrets(m push.Message) channels.Secrets {
	return channels.SecretsOf(m, s.cfg.AccessKeyID, s.cfg.AccessKeySecret)
}

// wirePhone is an E.164 number as Aliyun wants it: without country code at home, without plus elsewhere.
func wirePhone(e164 string) string {
	if home, isHome := strings.CutPrefix(e164, "+86"); isHome {
		return home
	}
	return strings.TrimPrefix(e164, "+")
}
