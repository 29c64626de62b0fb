package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticks is the kernel's USER_HZ, the unit of times in /proc: 100 on every Linux that Go runs on.
const ticks = 100

// usage is what the services have used up so far.
type usage struct {
	kafka, redis, postgres float64 // CPU seconds
	commits                float64 // of the room's database: each batch of statements is one, and one round trip
	log                    float64 // bytes of PostgreSQL's write-ahead log
	reads                  float64 // of Redis from its clients: a pipeline is one, and one round trip, or few
	wire                   float64 // bytes from and to Redis's clients
}

// cost is what one delivery took of everything.
type cost struct {
	pusher, kafka, redis, postgres float64 // CPU microseconds
	commits, reads                 float64
	log, wire                      float64 // bytes
	mallocs, bytes                 float64
}

func costOf(first, last sample, before, after usage) cost {
	n := last.done - first.done
	micro := 1e6 / n
	return cost{
		pusher: (last.cpu - first.cpu) * micro, kafka: (after.kafka - before.kafka) * micro,
		redis: (after.redis - before.redis) * micro, postgres: (after.postgres - before.postgres) * micro,
		commits: (after.commits - before.commits) / n, reads: (after.reads - before.reads) / n,
		log: (after.log - before.log) / n, wire: (after.wire - before.wire) / n,
		mallocs: (last.mallocs - first.mallocs) / n, bytes: (last.bytes - first.bytes) / n,
	}
}

// usage asks the kernel and the services.
func (w *world) usage(ctx context.Context, r room) (u usage, err error) {
	times, err := processTimes()
	if err != nil {
		return u, err
	}
	u.kafka, u.redis = times.of(w.kafka.PID()), times.of(w.redis.PID())
	u.postgres = times.of(w.postgres.PID())
	err = w.admin.QueryRow(ctx, `SELECT coalesce(sum(xact_commit), 0)::float8, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8
		FROM pg_stat_database WHERE datname = $1`, r.group).Scan(&u.commits, &u.log)
	if err != nil {
		return u, fmt.Errorf("reading postgres's counters: %w", err)
	}
	client := w.keys(r)
	defer client.Close()
	text, err := client.Info(ctx, "stats").Result()
	if err != nil {
		return u, fmt.Errorf("reading redis's counters: %w", err)
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "total_net_input_bytes", "total_net_output_bytes":
			u.wire += n
		case "total_reads_processed":
			u.reads = n
		}
	}
	return u, nil
}

// times are the CPU seconds of every process, and who started it.
type times map[int]struct {
	parent int
	used   float64 // its own, and of its children that have ended
}

// of is the CPU seconds of a process and of those it started.
func (t times) of(pid int) float64 {
	used := t[pid].used
	for child, p := range t {
		if p.parent == pid {
			used += t.of(child)
		}
	}
	return used
}

// processTimes reads /proc.
func processTimes() (times, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("reading /proc: %d processes, %w", len(files), err)
	}
	all := times{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, rest, found := strings.Cut(string(text), ") ") // behind the name, which may hold anything
		fields := strings.Fields(rest)
		if !found || len(fields) < 15 {
			continue
		}
		number := func(i int) float64 { n, _ := strconv.ParseFloat(fields[i], 64); return n }
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		p := all[pid]
		p.parent = int(number(1))
		p.used = (number(11) + number(12) + number(13) + number(14)) / ticks
		all[pid] = p
	}
	return all, nil
}
