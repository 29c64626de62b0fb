package chaos

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const tenMinutes = 10 * time.Minute

func planned(seed uint64) []fault { return plan(seed, tenMinutes, 3*time.Second, lease, newCast(3, 2)) }

func TestTheSameSeedDrawsTheSamePlan(t *testing.T) {
	t.Parallel()
	if !reflect.DeepEqual(planned(7), planned(7)) {
		t.Error("two plans of one seed differ")
	}
	if reflect.DeepEqual(planned(7), planned(8)) {
		t.Error("two seeds draw one plan")
	}
}

func TestTenMinutesHoldOverAHundredFaultsOfEveryKind(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		faults := planned(seed)
		if len(faults) <= 100 {
			t.Errorf("seed %d: %d faults, want over 100", seed, len(faults))
		}
		by := map[kind]int{}
		for _, f := range faults {
			by[f.kind]++
		}
		for _, s := range newCast(3, 2).specs(lease) {
			if by[s.kind] == 0 && s.weight > 1 {
				t.Errorf("seed %d: no %s", seed, s.kind)
			}
		}
	}
}

func TestEveryFaultIsHealedBeforeTheEndAndAloneOnWhatItBefalls(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		faults := planned(seed)
		for i, f := range faults {
			if f.at+f.last > tenMinutes {
				t.Errorf("seed %d: %s at %s lasts beyond the end", seed, f.kind, f.at)
			}
			for _, later := range faults[i+1:] {
				if later.at < f.at {
					t.Fatalf("seed %d: %s comes before %s", seed, later.at, f.at)
				}
				same := slices.ContainsFunc(f.on, func(name string) bool { return slices.Contains(later.on, name) })
				if same && later.at < f.at+f.last {
					t.Errorf("seed %d: %s at %s meets %s at %s on %v", seed, later.kind, later.at, f.kind, f.at, f.on)
				}
			}
		}
	}
}

func TestWhatIsFrozenStaysSoForLongerThanItsLease(t *testing.T) {
	t.Parallel()
	for _, f := range planned(1) {
		if f.kind == processFrozen && f.last <= lease {
			t.Errorf("frozen for %s, want more than the lease, %s", f.last, lease)
		}
	}
}

func TestANetworkFaultBefallsOneLineOrAllOfOneService(t *testing.T) {
	t.Parallel()
	c := newCast(3, 2)
	for _, f := range planned(1) {
		if !strings.HasPrefix(string(f.kind), "network") {
			continue
		}
		service := f.on[0][strings.LastIndex(f.on[0], " ")+1:]
		for _, line := range f.on {
			if !strings.HasSuffix(line, " to "+service) {
				t.Errorf("%s on %v: not one service", f.kind, f.on)
			}
		}
		if len(f.on) != 1 && len(f.on) != len(c.processes()) {
			t.Errorf("%s on %v: neither one process nor all", f.kind, f.on)
		}
	}
}
