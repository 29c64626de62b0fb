package provider_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common"
	"github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/profile"
	sms "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/sms/v20210111"

	"pusher/internal/sandbox/provider"
)

// officialClient is Tencent's own, left as it comes but for the address.
func officialClient(t *testing.T, box *provider.Sandbox) *sms.Client {
	t.Helper()
	settings := profile.NewClientProfile()
	settings.HttpProfile.Scheme = "HTTP"
	settings.HttpProfile.Endpoint = strings.TrimPrefix(box.URL(), "http://")
	client, err := sms.NewClient(common.NewCredential(provider.DefaultKeyID, provider.DefaultSecret), "ap-guangzhou", settings)
	if err != nil {
		t.Fatal(err)
	}
	client.WithHttpTransport(nil) // the default one, whose idle connections start closes
	return client
}

func TestOfficialClientSendsAndPulls(t *testing.T) {
	t.Parallel()
	box := start(t, provider.Config{})
	client := officialClient(t, box)
	for _, phone := range []string{"+8613800138000", "13800138000"} {
		r := sms.NewSendSmsRequest()
		r.PhoneNumberSet = common.StringPtrs([]string{phone})
		r.SmsSdkAppId, r.TemplateId, r.SignName = new("1400"), new("20001"), new("x")
		r.TemplateParamSet, r.SessionContext = common.StringPtrs([]string{"厨师"}), new("ref-"+phone)
		answer, err := client.SendSms(r)
		if err != nil {
			t.Fatal(err)
		}
		want := "Ok"
		if phone[0] != '+' {
			want = "InvalidParameterValue.IncorrectPhoneNumber" // stricter than Tencent: our sender always has the plus
		}
		if got := *answer.Response.SendStatusSet[0].Code; got != want {
			t.Errorf("%s: code %s, want %s", phone, got, want)
		}
	}
	r := sms.NewPullSmsSendStatusByPhoneNumberRequest()
	r.BeginTime, r.Offset, r.Limit = new(uint64(time.Now().Unix()-60)), common.Uint64Ptr(0), common.Uint64Ptr(10)
	r.PhoneNumber, r.SmsSdkAppId = new("+8613800138000"), new("1400")
	answer, err := client.PullSmsSendStatusByPhoneNumber(r)
	if err != nil {
		t.Fatal(err)
	}
	rows := answer.Response.PullSmsSendStatusSet
	if len(rows) != 1 || *rows[0].SerialNo != box.Journal().Entries()[0].MessageID || *rows[0].SessionContext != "" {
		t.Errorf("the receipts are %s", answer.ToJsonString())
	}
	r.Limit = common.Uint64Ptr(101)
	if _, err := client.PullSmsSendStatusByPhoneNumber(r); err == nil {
		t.Error("a limit of 101 is taken")
	}
}
