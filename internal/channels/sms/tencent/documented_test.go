package tencent_test

import (
	"fmt"
	"testing"

	"pusher/internal/channels/channeltest"
	"pusher/internal/push"
)

// Every code of docs/providers.md, section 2, at both levels: of the request, and of its one number.
func TestEveryDocumentedCode(t *testing.T) {
	t.Parallel()
	list := channeltest.ReadDocumented(t, "2")
	if len(list) < 50 {
		t.Fatalf("%d codes found, the document has more", len(list))
	}
	except := map[string]push.Class{"InternalError.ParseBackendResponseFail": push.Ambiguous} // "(ambiguous)"
	for _, d := range list {
		if d.Code == "Ok" {
			continue // TestOnlyTheNumbersOkIsAYes
		}
		for level, body := range map[string]string{
			"request": `{"Response":{"Error":{"Code":%q,"Message":"words"},"RequestId":"r"}}`,
			"number":  `{"Response":{"SendStatusSet":[{"PhoneNumber":"+8613800138000","Code":%q,"Message":"words"}],"RequestId":"r"}}`,
		} {
			t.Run(d.Code+" of the "+level, func(t *testing.T) {
				t.Parallel()
				_, err := answer(t, fmt.Sprintf(body, d.Concrete()))
				channeltest.CheckDocumented(t, d, channeltest.Failure(t, err), except)
			})
		}
	}
	t.Logf("%d codes", len(list))
}
