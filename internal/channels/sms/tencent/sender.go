package tencent

import (
	"context"

	sms "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/sms/v20210111"

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
	r, err := s.request(m)
	if err != nil {
		return "", err
	}
	ctx, cancel := channels.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	ctx, status := keepStatus(ctx)
	answer, err := s.client.SendSmsWithContext(ctx, r)
	if err != nil {
		return "", s.failure(err, *status)
	}
	return s.read(answer, m.Recipient, *status)
}

// Preview writes the request that m would be, as JSON, and sends nothing.
func (s *Sender) Preview(m push.Message) ([]byte, error) {
	r, err := s.request(m)
	if err != nil {
		return nil, s.secrets(m).Failure(err)
	}
	return channels.JSON(r), nil
}

// secrets are what no error about m may show.
func (s *Sender) secrets(m push.Message) channels.Secrets {
	return channels.SecretsOf(m, s.cfg.SecretID, s.cfg.SecretKey)
}

// Writes reports whether m can be written within the rules of its template and account.
func (s *Sender) Writes(m push.Message) bool {
	_, err := s.request(m)
	return err == nil
}

// request writes m as a request for its one number.
func (s *Sender) request(m push.Message) (*sms.SendSmsRequest, error) {
	template, known := s.templates[m.BizType]
	if !known {
		return nil, channels.NoTemplate(m.BizType)
	}
	r := sms.NewSendSmsRequest()
	r.PhoneNumberSet = []*string{&m.Recipient}
	r.SmsSdkAppId = &s.cfg.SDKAppID
	r.SignName = &s.cfg.SignName
	r.TemplateId = &template.id
	r.SessionContext = &m.Reference
	for _, param := range template.params {
		value, err := param.RenderChecked(m.Vars, s.cfg.Values.Check)
		if err != nil {
			return nil, err
		}
		r.TemplateParamSet = append(r.TemplateParamSet, &value)
	}
	return r, nil
}
