package wechat

import (
	"context"
	"encoding/json"
	"net/url"

	"pusher/internal/channels"
	"pusher/internal/push"
)

// templateMessage is a message on the wire.
type templateMessage struct {
	ToUser      string           `json:"touser"`
	TemplateID  string           `json:"template_id"`
	URL         string           `json:"url,omitempty"`
	Data        map[string]field `json:"data"`
	ClientMsgID string           `json:"client_msg_id"`
}

type field struct {
	Value string `json:"value"`
}

// Send sends one message. Its error is a *push.Failure.
func (s *Sender) Send(ctx context.Context, m push.Message) (push.Acceptance, error) {
	ctx, cancel := channels.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	id, token, err := s.send(ctx, m)
	if err != nil {
		secrets := channels.SecretsOf(m, s.cfg.AppID, s.cfg.AppSecret, token, url.QueryEscape(token))
		return push.Acceptance{}, secrets.Failure(err)
	}
	return push.Acceptance{Provider: Provider, MessageID: id}, nil
}

// Preview writes the request that m would be, as JSON, and sends nothing.
func (s *Sender) Preview(m push.Message) ([]byte, error) {
	body, err := s.write(m)
	if err != nil {
		return nil, channels.SecretsOf(m, s.cfg.AppID, s.cfg.AppSecret).Failure(err)
	}
	return body, nil
}

// send returns the token beside its error, for the error to be cleaned of it.
func (s *Sender) send(ctx context.Context, m push.Message) (id, token string, err error) {
	body, err := s.write(m)
	if err != nil {
		return "", "", err
	}
	token, err = s.tokens.get(ctx)
	if err != nil {
		return "", "", err
	}
	id, err = s.post(ctx, token, body)
	if !isTokenRefusal(err) {
		s.tokens.worked(token, err)
		return id, token, err
	}
	s.tokens.refused(token, push.FailureOf(err))
	next, failed := s.tokens.get(ctx)
	if failed != nil {
		return "", token, failed
	}
	if next != token {
		if id, err = s.post(ctx, next, body); !isTokenRefusal(err) {
			s.tokens.worked(next, err)
			return id, next, err
		}
	}
	s.tokens.refused(next, push.FailureOf(err))
	return "", next, err
}

// write renders m as it goes over the wire.
func (s *Sender) write(m push.Message) ([]byte, error) {
	template, known := s.templates[m.BizType]
	if !known {
		return nil, channels.NoTemplate(m.BizType)
	}
	message := templateMessage{
		ToUser: m.Recipient, TemplateID: template.id, ClientMsgID: m.Reference,
		Data: make(map[string]field, len(template.data)),
	}
	values, err := channels.RenderAll(template.data, m.Vars, checkOf(s.cfg.Shorten))
	if err != nil {
		return nil, err
	}
	for name, value := range values {
		message.Data[name] = field{value}
	}
	if template.url != nil {
		if message.URL, err = template.url.Render(m.Vars); err != nil {
			return nil, err
		}
	}
	return channels.JSON(message), nil
}

// post sends the written message once and returns its msgid, every digit of it.
func (s *Sender) post(ctx context.Context, token string, body []byte) (string, error) {
	answer, err := s.call(ctx, "/cgi-bin/message/template/send?access_token="+url.QueryEscape(token), body)
	if err != nil {
		return "", err
	}
	var id struct {
		MsgID channels.ID `json:"msgid"`
	}
	_ = json.Unmarshal(answer, &id) // an acceptance whose id cannot be read is one
	return string(id.MsgID), nil
}

// isTokenRefusal reports whether WeChat refused the access token, and with it the whole request.
func isTokenRefusal(err error) bool {
	if err == nil {
		return false
	}
	switch push.FailureOf(err).Code {
	case "40001", "40014", "41001", "42001":
		return true
	}
	return false
}
