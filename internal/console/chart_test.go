package console

import (
	"math"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestQuantileReadsAHistogram(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		buckets []int64
		q, want float64
	}{
		"none":            {nil, .95, math.NaN()},
		"empty":           {[]int64{0, 0}, .95, math.NaN()},
		"half of first":   {[]int64{10}, .5, .05},
		"all of first":    {[]int64{10}, 1, .1},
		"second":          {[]int64{5, 5}, .75, .175},
		"over a gap":      {[]int64{9, 0, 0, 1}, .95, .75},
		"beyond the last": {[]int64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}, .5, 300},
	}
	for name, tc := range cases {
		got := quantile(tc.buckets, tc.q)
		if math.IsNaN(got) != math.IsNaN(tc.want) || math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTopOfAChartIsRoundAndItsTicksAreWhole(t *testing.T) {
	t.Parallel()
	for value := 1.0; value < 100_000; value = math.Ceil(value * 1.07) {
		top := whole(value)
		if top < value || math.Mod(top, tickCount) != 0 && top > 5*tickCount && top < 100 {
			t.Errorf("%v: %v", value, top)
		}
		if top > 2.6*value && value > 4 {
			t.Errorf("%v: %v is far above", value, top)
		}
	}
	for _, value := range []float64{0, -1, math.Inf(1)} {
		if nice(value) != 0 {
			t.Errorf("%v: %v", value, nice(value))
		}
	}
}

// reader is a visit without a request.
func reader(t *testing.T) *visit {
	t.Helper()
	return &visit{tongue: languages(t).list[0], zone: time.UTC, now: time.Date(2026, 1, 2, 12, 30, 0, 0, time.UTC)}
}

func TestChartStacksWithinItsBounds(t *testing.T) {
	t.Parallel()
	v := reader(t)
	first := v.now.Truncate(time.Hour).Add(-2 * time.Hour)
	hour := func(i int, action push.Action, n int64) push.Hour {
		return push.Hour{Hour: first.Add(time.Duration(i) * time.Hour), Action: action, Status: push.Sent, Count: n, Latency: []int64{n}}
	}
	charts := v.charts([]push.Hour{
		hour(0, push.Notify, 3), hour(0, push.SMS, 1), hour(2, push.Notify, 1_000_000), hour(2, push.SMS, 1), hour(-5, push.SMS, 9),
	}, first)
	sends := charts[0]
	if len(sends.Bars) != 4 || len(sends.Columns) != 3 || len(sends.Rows) != 3 || sends.Series[0].Name != "In-app" {
		t.Fatalf("got %+v", sends)
	}
	for _, b := range sends.Bars {
		if b.Y < 0 || b.Y+b.H > chartHeight+.01 || b.H < .5 || b.X+b.W > chartWidth {
			t.Errorf("out of the chart: %+v", b)
		}
	}
	if sends.Series[1].Sum != "2" {
		t.Errorf("what is out of the hours counts: %s", sends.Series[1].Sum)
	}
	if !charts[1].Empty {
		t.Error("failures where there are none")
	}
	if d := charts[2].Lines[0].Dots; strings.Count(d, "M") != 2 || strings.Contains(d, "NaN") {
		t.Errorf("the gap is bridged: %s", d)
	}
	if charts[2].Lines[0].D != "" || charts[2].Lines[0].Dots == "" {
		t.Errorf("hours alone are no dots: %+v", charts[2].Lines[0])
	}
	if sends.Rows[0].Cells[0] != "1\u202f000\u202f000" || !strings.Contains(sends.Columns[0].Tip, "In-app  3") {
		t.Errorf("got %v and %q", sends.Rows[0], sends.Columns[0].Tip)
	}
}

// The times under a chart stand where their hours are: a reader in another zone sees round ones, too.
func TestTimesUnderAChartStandUnderTheirHours(t *testing.T) {
	t.Parallel()
	v := reader(t)
	v.zone = time.FixedZone("CST", 8*3600)
	drawn := func(hours int) chart {
		d := drawing{hours: make([]time.Time, hours), series: []series{{Values: make([]float64, hours)}}, write: func(float64) string { return "" }}
		for i := range d.hours {
			d.hours[i] = v.now.Truncate(time.Hour).Add(time.Duration(i+1-hours) * time.Hour)
		}
		d.series[0].Values[0] = 1
		return v.draw(d)
	}
	for hours, want := range map[int]struct {
		marks       int
		first, last mark
	}{
		24:  {6, mark{"14.6%", "00:00"}, mark{"97.9%", "20:00"}}, // it is 20:30 there, and began at 21:00
		168: {7, mark{"2.1%", "12-27"}, mark{"87.8%", "01-02"}},
	} {
		got := drawn(hours).Marks
		if len(got) != want.marks || got[0] != want.first || got[len(got)-1] != want.last {
			t.Errorf("%d hours: %v", hours, got)
		}
	}
}

func TestSpansAreSaidInTwoUnitsAtMost(t *testing.T) {
	t.Parallel()
	v := reader(t)
	cases := map[time.Duration]string{
		0: "0 ms", 999 * time.Millisecond: "999 ms", 1500 * time.Millisecond: "1.5s", 59 * time.Second: "59s", 61 * time.Second: "1m 1s",
		3 * time.Hour: "3h 0m", 50 * time.Hour: "2d 2h", -90 * time.Second: "1m 30s",
	}
	for d, want := range cases {
		if got := v.Span(d); got != want {
			t.Errorf("%s: %q", d, got)
		}
	}
	if got := v.Since(v.now.Add(90 * time.Second)); got != "in 1m 30s" {
		t.Errorf("got %q", got)
	}
	if got := v.Since(v.now.Add(-90 * time.Second)); got != "1m 30s ago" {
		t.Errorf("got %q", got)
	}
}
