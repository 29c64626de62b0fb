package deliver

import "pusher/internal/push"

// address is a delivery's own address on its channel, in the forms that the push log keeps.
type address struct {
	full string // user id, phone in E.164, or openid; never logged
	skip string // not empty: there is no such address, and why
}

// addressOf finds a channel's address in the event. A phone is brought into its one form here, after the claim: it is
// no part of the key, unless the rule says so.
func addressOf(a push.Action, to push.Recipient, region string) address {
	switch a {
	case push.Notify:
		return required(to.UserID, "no_user_id")
	case push.WeChat:
		return required(to.OpenID, "no_openid")
	case push.SMS:
		if to.Phone == "" {
			return address{skip: "no_phone"}
		}
		phone, err := push.NormalizePhone(to.Phone, region)
		if err != nil {
			return address{skip: "bad_phone"}
		}
		return address{full: phone}
	}
	return address{skip: "unknown_action"}
}

func required(value, missing string) address {
	if value == "" {
		return address{skip: missing}
	}
	return address{full: value}
}
