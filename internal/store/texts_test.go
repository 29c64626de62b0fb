package store

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"pusher/internal/testbed"
)

// PostgreSQL reads what the short way writes as what pgx itself writes.
func TestTextsArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, testbed.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	for range 2 {
		for name, list := range map[string][]string{
			"none": nil, "empty": {}, "one": {"a"}, "odd ones": {"", "NULL", "{}", `"\`, "职位", " ", strings.Repeat("x", 100_000)},
		} {
			var got []string
			if err := conn.QueryRow(ctx, "SELECT $1::text[]", list).Scan(&got); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !reflect.DeepEqual(got, list) {
				t.Errorf("%s comes back as %q", name, got)
			}
		}
		if err := knowTexts(ctx, conn); err != nil { // the second round is the short way's
			t.Fatal(err)
		}
	}
}

func BenchmarkTexts(b *testing.B) {
	list := make([]string, 300)
	for i := range list {
		list[i] = "some text of a row"
	}
	usual := pgtype.NewMap()
	known, _ := usual.TypeForOID(pgtype.TextArrayOID)
	short := pgtype.NewMap()
	short.RegisterType(&pgtype.Type{Name: known.Name, OID: known.OID, Codec: texts{known.Codec.(*pgtype.ArrayCodec)}})
	for name, m := range map[string]*pgtype.Map{"usual": usual, "short": short} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Encode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, list, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
