package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTextsBecomeValues(t *testing.T) {
	t.Parallel()
	var values struct {
		D time.Duration
		B bool
		I int
		F float64
		S Secret
		L []string
	}
	section := reflect.ValueOf(&values).Elem()
	for i, text := range []string{"1h30m", "true", "-3", "0.25", " a b ", " a , ,b,"} {
		if err := set(section.Field(i), text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if values.D != 90*time.Minute || !values.B || values.I != -3 || values.F != 0.25 || values.S != " a b " ||
		!slices.Equal(values.L, []string{"a", "b"}) {
		t.Errorf("got %+v", values)
	}
}

func TestTextsOfTheWrongTypeSayHowToMendThem(t *testing.T) {
	t.Parallel()
	cases := map[reflect.Type]map[string]string{
		reflect.TypeFor[time.Duration](): {"5": "unit", "7d": "24h", "": "unit"},
		reflect.TypeFor[bool]():          {"yes": "true nor false"},
		reflect.TypeFor[int]():           {"0x10": "digits", "1.0": "digits", "99999999999999999999": "digits"},
		reflect.TypeFor[float64]():       {"NaN": "0.2", "+Inf": "0.2", "half": "0.2"},
		reflect.TypeFor[chan int]():      {"x": "cannot be set"},
	}
	for kind, texts := range cases {
		for text, says := range texts {
			if err := set(reflect.New(kind).Elem(), text); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s %q: got %v", kind, text, err)
			}
		}
	}
}

func TestPlacesFallBackToTheSectionThatWasSaid(t *testing.T) {
	t.Parallel()
	p := places{"": {source: "f"}, "kafka": {source: "f", line: 3}, "kafka.topic": {source: "PUSHER_KAFKA_TOPIC"}}
	for key, want := range map[string]string{
		"kafka.topic": "PUSHER_KAFKA_TOPIC: kafka.topic: x", "kafka.sasl.username": "f:3: kafka.sasl.username: x",
		"redis.db": "f: redis.db: x", "": "f: x",
	} {
		if got := p.problem(key, "x").String(); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}
