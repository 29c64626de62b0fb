package provider

import (
	"fmt"
	"math"
	"testing"
)

// hits returns which of n references meet a fault, asked in an order that step gives.
func hits(t *testing.T, seed uint64, f Fault, n, step int) map[string]bool {
	t.Helper()
	s, err := New(Config{Seed: seed, Faults: []Fault{f}})
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	for i := range n {
		reference := fmt.Sprintf("ref-%d", i*step%n)
		if s.faults.pick(request{Aliyun, CallSend, reference, "13800138000"}) != nil {
			met[reference] = true
		}
	}
	return met
}

func TestShareIsDrawnByReferenceNotByOrder(t *testing.T) {
	t.Parallel()
	const n = 1009 // prime, so that every step meets each reference once
	f := Fault{Kind: Reset, Share: 0.1}
	first := hits(t, 1, f, n, 1)
	if share := float64(len(first)) / n; math.Abs(share-0.1) > 0.04 {
		t.Errorf("%.3f of the references, want about 0.1", share)
	}
	again := hits(t, 1, f, n, 7)
	for reference := range first {
		if !again[reference] {
			t.Errorf("%s meets the fault in one order only", reference)
		}
	}
	if len(again) != len(first) {
		t.Errorf("%d and %d references", len(first), len(again))
	}
	same := 0
	for reference := range hits(t, 2, f, n, 1) {
		if first[reference] {
			same++
		}
	}
	if same > len(first)/2 {
		t.Errorf("another seed draws %d of the same %d", same, len(first))
	}
}

func TestRuleCountsAndMatches(t *testing.T) {
	t.Parallel()
	send := request{Aliyun, CallSend, "r1", "13800138000"}
	other := request{Aliyun, CallSend, "r2", "13900139000"}
	for name, c := range map[string]struct {
		fault Fault
		asks  []request
		want  []bool
	}{
		"all":           {Fault{}, []request{send, other, send}, []bool{true, true, true}},
		"count":         {Fault{Count: 2}, []request{send, other, send}, []bool{true, true, false}},
		"each":          {Fault{Each: 1}, []request{send, other, send, other}, []bool{true, true, false, false}},
		"recipient":     {Fault{Recipient: "13900139000"}, []request{send, other}, []bool{false, true}},
		"provider":      {Fault{Provider: Tencent}, []request{send, {Tencent, CallSend, "r", "+86"}}, []bool{false, true}},
		"query":         {Fault{Call: CallQuery}, []request{send, {Aliyun, CallQuery, "", "138"}}, []bool{false, true}},
		"share of none": {Fault{Share: 1e-300}, []request{send, other}, []bool{false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.fault.Kind = Reset
			s, err := New(Config{Faults: []Fault{c.fault}})
			if err != nil {
				t.Fatal(err)
			}
			for i, q := range c.asks {
				if got := s.faults.pick(q) != nil; got != c.want[i] {
					t.Errorf("request %d: fault %v, want %v", i, got, c.want[i])
				}
			}
		})
	}
}

func TestFirstRuleDecides(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Faults: []Fault{{Kind: Reset, Count: 1}, {Kind: Stall}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Kind{Reset, Stall, Stall} {
		if got := s.faults.pick(request{WeChat, CallSend, "r", "o"}); got == nil || got.Kind != want {
			t.Errorf("fault %+v, want %s", got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, bad := range []Fault{
		{}, {Kind: "explode"}, {Kind: Refuse}, {Kind: Reset, Provider: "twilio"}, {Kind: Reset, Call: "receipt"},
		{Kind: Reset, Share: 1.1}, {Kind: Reset, Share: -1}, {Kind: Throttle}, {Kind: Reset, Rate: 1}, {Kind: Revoke},
		{Kind: Revoke, Provider: Aliyun}, {Kind: Revoke, Provider: WeChat, Call: CallToken},
	} {
		if _, err := New(Config{Faults: []Fault{bad}}); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
