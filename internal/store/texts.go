package store

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// texts is the codec of text[] with a short way for []string: pgx takes each element through an interface, and most
// arguments of a batch are columns of texts.
type texts struct{ *pgtype.ArrayCodec }

// knowTexts gives a new connection the codec.
func knowTexts(_ context.Context, c *pgx.Conn) error {
	known, ok := c.TypeMap().TypeForOID(pgtype.TextArrayOID)
	if !ok {
		return nil
	}
	if codec, usual := known.Codec.(*pgtype.ArrayCodec); usual {
		c.TypeMap().RegisterType(&pgtype.Type{Name: known.Name, OID: known.OID, Codec: texts{codec}})
	}
	return nil
}

// PlanEncode has the short way for []string in the binary format, and is the usual codec's for all else.
func (t texts) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.([]string); ok && format == pgtype.BinaryFormatCode {
		return textsPlan{}
	}
	return t.ArrayCodec.PlanEncode(m, oid, format, value)
}

type textsPlan struct{}

// Encode appends a []string as PostgreSQL's array_recv reads it: dimensions, whether there are nulls, the type of the
// elements; length and first index of the one dimension; then each element behind its length.
func (textsPlan) Encode(value any, buf []byte) ([]byte, error) {
	list, _ := value.([]string)
	if list == nil {
		return nil, nil
	}
	size := 5 * 4
	for _, s := range list {
		size += 4 + len(s)
	}
	buf = slices.Grow(buf, size)
	number := func(n int) { buf = binary.BigEndian.AppendUint32(buf, uint32(n)) }
	if len(list) == 0 {
		number(0)
		number(0)
		number(pgtype.TextOID)
		return buf, nil
	}
	number(1)
	number(0)
	number(pgtype.TextOID)
	number(len(list))
	number(1)
	for _, s := range list {
		number(len(s))
		buf = append(buf, s...)
	}
	return buf, nil
}
