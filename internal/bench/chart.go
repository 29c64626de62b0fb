package bench

import (
	"fmt"
	"html"
	"strings"
)

// bar is one bar of the chart.
type bar struct {
	name  string
	value float64
	ours  bool // of the pusher, not of a reference
}

// bars are the deliveries a second of this run.
func (b *bench) bars() []bar {
	var list []bar
	for _, of := range []struct{ key, name string }{
		{keyTutorial, "tutorial worker"}, {keyFramelessSMS, "frameless loop, SMS"}, {keyPusherSMS, "pusher, SMS"},
		{keyFramelessInbox, "frameless loop, in-app"}, {keyPusherInbox, "pusher, in-app"},
		{keyFramelessSlow, "frameless loop, 50 ms, 1024 out"}, {keyPusherSlow, "pusher, 50 ms, 1024 out"},
		{keyReplay, "pusher, duplicates only"},
	} {
		if value, measured := b.kept[of.key]; measured {
			list = append(list, bar{of.name, value, strings.HasPrefix(of.name, "pusher")})
		}
	}
	return list
}

// drawn is the bars as SVG.
func drawn(bars []bar) []byte {
	const height, left, right = 26, 230, 760
	most := 1.0
	for _, b := range bars {
		most = max(most, b.value)
	}
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">`+"\n",
		right+90, height*len(bars)+40)
	s.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	s.WriteString(`<text x="10" y="20" font-weight="bold">deliveries a second, all services on one machine</text>` + "\n")
	for i, b := range bars {
		y := 34 + i*height
		colour := "#9aa5b1"
		if b.ours {
			colour = "#2b6cb0"
		}
		width := b.value / most * (right - left)
		fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="end">%s</text>`, left-8, y+15, html.EscapeString(b.name))
		fmt.Fprintf(&s, `<rect x="%d" y="%d" width="%.0f" height="%d" fill="%s"/>`, left, y, width, height-6, colour)
		fmt.Fprintf(&s, `<text x="%.0f" y="%d">%.0f</text>`+"\n", left+width+6, y+15, b.value)
	}
	s.WriteString("</svg>\n")
	return []byte(s.String())
}
