package console

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"pusher/internal/push"
)

// gather sums what an hour has by name: what becomes the series of a chart.
type gather struct {
	hours   []time.Time
	colors  map[string]int       // of app.css, by name
	place   map[int64]int        // of an hour, by its second
	totals  map[string][]float64 // by name, then by hour
	buckets map[string][][]int64 // likewise
}

func newGather(hours []time.Time) gather {
	g := gather{hours: hours, colors: map[string]int{}, place: map[int64]int{}, totals: map[string][]float64{}, buckets: map[string][][]int64{}}
	for i, h := range hours {
		g.place[h.Unix()] = i
	}
	return g
}

// add counts an hour to a name. What is out of the chart's hours is left out.
func (g gather) add(name string, h push.Hour) {
	i, ok := g.place[h.Hour.Unix()]
	if !ok {
		return
	}
	g.colors[name] = colorOf(h)
	if g.totals[name] == nil {
		g.totals[name], g.buckets[name] = make([]float64, len(g.hours)), make([][]int64, len(g.hours))
	}
	g.totals[name][i] += float64(h.Count)
	g.buckets[name][i] = plus(g.buckets[name][i], h.Latency)
}

// counts are the series of how many.
func (g gather) counts(write func(float64) string) []series {
	return g.series(func(name string) ([]float64, string) {
		sum := 0.0
		for _, n := range g.totals[name] {
			sum += n
		}
		return g.totals[name], write(sum)
	})
}

// quantiles are the series of how long the q-th share took at most; NaN in an hour without any.
func (g gather) quantiles(q float64, write func(float64) string) []series {
	return g.series(func(name string) ([]float64, string) {
		var all []int64
		values := make([]float64, len(g.hours))
		for i, buckets := range g.buckets[name] {
			values[i] = quantile(buckets, q)
			all = plus(all, buckets)
		}
		whole := quantile(all, q)
		if math.IsNaN(whole) {
			return values, "–"
		}
		return values, write(whole)
	})
}

// series makes one for each name, in the order of their colours, so that a chart looks like the one beside it.
func (g gather) series(of func(name string) (values []float64, sum string)) []series {
	var list []series
	for _, name := range slices.Sorted(maps.Keys(g.totals)) {
		values, sum := of(name)
		list = append(list, series{Name: name, Color: g.colors[name], Sum: sum, Values: values})
	}
	slices.SortStableFunc(list, func(a, b series) int { return cmp.Compare(a.Color, b.Color) })
	return list
}

// colorOf is the colour of a channel and its provider, in every chart; of app.css.
func colorOf(h push.Hour) int {
	switch {
	case h.Action == push.Notify:
		return 1
	case h.Action == push.WeChat:
		return 2
	case h.Action == push.SMS && h.Provider == "aliyun":
		return 3
	case h.Action == push.SMS && h.Provider == "tencent":
		return 4
	case h.Action == push.SMS:
		return 5
	}
	return 6
}

// plus adds b to a; neither is longer than a histogram is.
func plus(a, b []int64) []int64 {
	a = slices.Clone(a)
	for i, n := range b {
		if i >= len(a) {
			a = append(a, 0)
		}
		a[i] += n
	}
	return a
}

// quantile is what the q-th share of a histogram is at most, as if each bucket were filled evenly; NaN of an empty one.
// Beyond the last bound it is that bound: more is not known.
func quantile(buckets []int64, q float64) float64 {
	total := int64(0)
	for _, n := range buckets {
		total += n
	}
	if total == 0 {
		return math.NaN()
	}
	bounds := push.LatencyBounds()
	rank, seen, low := q*float64(total), 0.0, 0.0
	for i, n := range buckets {
		if i >= len(bounds) {
			break
		}
		if seen += float64(n); seen >= rank && n > 0 {
			return low + (bounds[i].Seconds()-low)*(1-(seen-rank)/float64(n))
		}
		low = bounds[i].Seconds()
	}
	return low
}
