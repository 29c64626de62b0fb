package config

import (
	"reflect"
	"strings"
	"time"
)

// fileSuffix makes the key of a secret the key of a file that holds it.
const fileSuffix = "_file"

// The types that are read in their own way, whatever kind they are of.
func isDuration(t reflect.Type) bool { return t == reflect.TypeFor[time.Duration]() }
func isSecret(t reflect.Type) bool   { return t == reflect.TypeFor[Secret]() }

// field finds the field of a section by its key. byFile says that the key names the file of a secret.
func field(section reflect.Value, name string) (f reflect.Value, byFile, ok bool) {
	for i := range section.NumField() {
		tag, f := section.Type().Field(i).Tag.Get("yaml"), section.Field(i)
		switch {
		case tag == "":
		case tag == name:
			return f, false, true
		case isSecret(f.Type()) && tag+fileSuffix == name:
			return f, true, true
		}
	}
	return reflect.Value{}, false, false
}

// names lists the keys of a section, for the one who mistyped one.
func names(section reflect.Value) string {
	var keys []string
	for i := range section.NumField() {
		if tag := section.Type().Field(i).Tag.Get("yaml"); tag != "" {
			keys = append(keys, tag)
		}
	}
	return strings.Join(keys, ", ")
}

// leaf is one setting outside pushes.
type leaf struct {
	key   string
	value reflect.Value // settable
}

// variable is the environment variable that overrides the key.
func variable(key string) string {
	return "PUSHER_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// leaves lists every setting outside pushes, in the order of the structs.
func leaves(section reflect.Value, prefix string) []leaf {
	var all []leaf
	for i := range section.NumField() {
		tag, f := section.Type().Field(i).Tag.Get("yaml"), section.Field(i)
		switch {
		case tag == "" || f.Kind() == reflect.Map:
		case f.Kind() == reflect.Struct:
			all = append(all, leaves(f, prefix+tag+".")...)
		default:
			all = append(all, leaf{key: prefix + tag, value: f})
		}
	}
	return all
}
