package console

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A chart is drawn here, as SVG within the page: it needs no script, prints, and its table says the same to who cannot
// see it. Widths are in the units of its view box; CSS stretches it.
const (
	chartWidth  = 600.0
	chartHeight = 150.0
	tickCount   = 4
	markEvery   = 4 // hours between the times under a chart of a day; under a longer one stand its days
)

// series is one colour of a chart: a value for each of its hours.
type series struct {
	Name   string
	Color  int    // of app.css: 1 to 6
	Sum    string // beside its name
	Values []float64
}

// chart is what the template "chart" draws.
type chart struct {
	V             *visit
	Title         string
	Summary       string // for who cannot see it
	Empty         bool
	W, H          float64
	Left, Right   float64
	Top, Deep     float64
	Series        []series
	Ticks         []tick
	Marks         []mark
	Bars          []bar
	Lines         []line
	Columns       []column
	Rows          []row
	stacked       bool
	hours         []time.Time
	write         func(float64) string
	top           float64 // the highest tick
	columnBreadth float64
}

type tick struct {
	Y    float64
	Text string
}

type bar struct {
	Color      int
	X, Y, W, H float64
}

type line struct {
	Color int
	D     string // an SVG path
	Dots  string // likewise: points that have no neighbour
}

// mark is a time under the chart, X of the chart's width from its left.
type mark struct {
	X    string // such as 45.8%
	Text string
}

// column is an hour: what is under the pointer.
type column struct {
	X, W float64
	Tip  string
}

// row is an hour in the table.
type row struct {
	At    stamp
	Cells []string
}

// drawing is what a chart is made of.
type drawing struct {
	title   string
	hours   []time.Time
	series  []series
	stacked bool // bars upon each other, else lines; a NaN is a gap
	write   func(float64) string
}

// draw lays a chart out.
func (v *visit) draw(d drawing) chart {
	c := chart{
		V: v, Title: d.title, W: chartWidth, H: chartHeight, Right: chartWidth, Deep: chartHeight,
		Series: d.series, stacked: d.stacked, hours: d.hours, write: d.write,
	}
	if c.top = nice(c.peak()); d.stacked {
		c.top = whole(c.peak())
	}
	c.Empty = c.top == 0 || len(d.hours) == 0
	if c.Empty {
		return c
	}
	c.columnBreadth = chartWidth / float64(len(d.hours))
	for i := range tickCount + 1 {
		share := float64(tickCount-i) / tickCount
		c.Ticks = append(c.Ticks, tick{Y: chartHeight * (1 - share), Text: d.write(c.top * share)})
	}
	if d.stacked {
		c.stack()
	} else {
		c.trace()
	}
	c.label(v)
	return c
}

// peak is the highest point.
func (c *chart) peak() float64 {
	highest := 0.0
	for i := range c.hours {
		sum := 0.0
		for _, s := range c.Series {
			if value := s.Values[i]; !math.IsNaN(value) {
				sum += value
				highest = max(highest, value)
			}
		}
		if c.stacked {
			highest = max(highest, sum)
		}
	}
	return highest
}

// y is the height of a value from above.
func (c *chart) y(value float64) float64 { return round(chartHeight * (1 - value/c.top)) }

// stack draws each hour's values upon each other.
func (c *chart) stack() {
	for i := range c.hours {
		sum := 0.0
		for _, s := range c.Series {
			if value := s.Values[i]; value > 0 {
				high := max(round(chartHeight*value/c.top), 0.75) // a single one is seen
				sum += value
				c.Bars = append(c.Bars, bar{
					Color: s.Color, X: round(float64(i)*c.columnBreadth + c.columnBreadth*.1), Y: min(c.y(sum), chartHeight-high),
					W: round(c.columnBreadth * .8), H: high,
				})
			}
		}
	}
}

// trace draws each series as a line with gaps, and an hour between two gaps as a dot.
func (c *chart) trace() {
	for _, s := range c.Series {
		var d, dots strings.Builder
		there := func(i int) bool { return i >= 0 && i < len(s.Values) && !math.IsNaN(s.Values[i]) }
		for i, value := range s.Values {
			if !there(i) {
				continue
			}
			x := round((float64(i) + .5) * c.columnBreadth)
			switch {
			case there(i - 1):
				fmt.Fprintf(&d, "L%g %g", x, c.y(value))
			case there(i + 1):
				fmt.Fprintf(&d, "M%g %g", x, c.y(value))
			default:
				fmt.Fprintf(&dots, "M%g %gh.01", x, c.y(value))
			}
		}
		c.Lines = append(c.Lines, line{Color: s.Color, D: d.String(), Dots: dots.String()})
	}
}

// label writes what can be read: the times, what is under the pointer, and the table.
func (c *chart) label(v *visit) {
	long := c.hours[len(c.hours)-1].Sub(c.hours[0]) > 26*time.Hour
	var spoken []string
	for i, hour := range c.hours {
		at, where := hour.In(v.zone), fmt.Sprintf("%.1f%%", 100*(float64(i)+.5)/float64(len(c.hours)))
		switch {
		case long && at.Hour() == 0:
			c.Marks = append(c.Marks, mark{where, at.Format("01-02")})
		case !long && at.Hour()%markEvery == 0:
			c.Marks = append(c.Marks, mark{where, at.Format("15:04")})
		}
		cells := make([]string, len(c.Series))
		tip := []string{hour.In(v.zone).Format("01-02 15:04")}
		for j, s := range c.Series {
			cells[j] = "–"
			if value := s.Values[i]; !math.IsNaN(value) {
				cells[j] = c.write(value)
				if value > 0 {
					tip = append(tip, s.Name+"  "+c.write(value))
				}
			}
		}
		c.Columns = append(c.Columns, column{X: round(float64(i) * c.columnBreadth), W: round(c.columnBreadth), Tip: strings.Join(tip, "\n")})
		c.Rows = append(c.Rows, row{At: v.stamp(hour, "01-02 15:04"), Cells: cells})
	}
	for _, s := range c.Series {
		spoken = append(spoken, s.Name+" "+s.Sum)
	}
	slices.Reverse(c.Rows) // the newest is what one looks for
	c.Summary = c.Title + ": " + strings.Join(spoken, ", ")
}

// nice is the top of a chart of fractions: a round number that is no less than value.
func nice(value float64) float64 {
	if value <= 0 || math.IsInf(value, 0) {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(value)))
	for _, step := range []float64{1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8} { // a fourth of each is round, too
		if step*power >= value {
			return step * power
		}
	}
	return 10 * power
}

// whole is the top of a chart of counts: every tick is a whole number.
func whole(value float64) float64 {
	if value <= 5*tickCount {
		return math.Ceil(value/tickCount) * tickCount
	}
	return nice(value)
}

// round keeps two decimals: a pixel needs no more.
func round(x float64) float64 { return math.Round(x*100) / 100 }
