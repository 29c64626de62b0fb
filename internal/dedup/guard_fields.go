package dedup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"

	"pusher/internal/push"
)

// Fields makes a key function out of paths to fields of In, such as "User.ID" and "OrderID": the values, percent-encoded
// and joined by ":", so that no two inputs share a key by accident. A path names fields of structs, by their Go names or
// by those of their json tags. The error says which path leads nowhere or ends in something that is no text, number or
// boolean. A nil pointer on the way fails the call that has it.
func Fields[In any](paths ...string) (func(In) (string, error), error) {
	if len(paths) == 0 {
		return nil, fmt.Errorf("key fields: none is named")
	}
	steps := make([][]int, len(paths))
	for i, path := range paths {
		index, err := resolve(reflect.TypeFor[In](), path)
		if err != nil {
			return nil, fmt.Errorf("key fields: %s: %w", path, err)
		}
		steps[i] = index
	}
	return func(in In) (string, error) {
		parts := make([]string, len(steps))
		for i, index := range steps {
			v, err := follow(reflect.ValueOf(in), index)
			if err != nil {
				return "", fmt.Errorf("%s: %w", paths[i], err)
			}
			parts[i] = push.EncodeKeyPart(fmt.Sprint(v))
		}
		return strings.Join(parts, ":"), nil
	}, nil
}

// resolve finds the field at the end of a path: its index at each step.
func resolve(t reflect.Type, path string) ([]int, error) {
	var index []int
	for name := range strings.SplitSeq(path, ".") {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return nil, fmt.Errorf("%v has no fields", t)
		}
		at := -1
		for i := range t.NumField() {
			tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if f := t.Field(i); name != "" && f.IsExported() && (f.Name == name || tag == name) {
				at = i
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("%v has no field %s", t, name)
		}
		index, t = append(index, at), t.Field(at).Type
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return index, nil
	default:
		return nil, fmt.Errorf("%v is no text, whole number or boolean", t)
	}
}

// follow is the value at the end of a resolved path.
func follow(v reflect.Value, index []int) (reflect.Value, error) {
	for _, at := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, errKey
			}
			v = v.Elem()
		}
		v = v.Field(at)
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return v, errKey
		}
		v = v.Elem()
	}
	return v, nil
}

// bounded keeps a key short enough for every index and log: a longer one is hashed.
func bounded(key string) string {
	if len(key) <= maxGuardKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256-" + hex.EncodeToString(sum[:])
}
