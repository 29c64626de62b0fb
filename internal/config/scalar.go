package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// set reads text into a setting of one value, or, at commas, of a list. The error says how to mend it and never holds
// a secret.
func set(v reflect.Value, text string) error {
	switch {
	case isDuration(v.Type()):
		return setDuration(v, text)
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		return setBool(v, text)
	case v.Kind() == reflect.Int:
		return setInt(v, text)
	case v.Kind() == reflect.Float64:
		return setFloat(v, text)
	case v.Kind() == reflect.Slice:
		setList(v, text)
	default:
		return fmt.Errorf("cannot be set as text (%s)", v.Type())
	}
	return nil
}

// setDuration takes what time.ParseDuration takes: there is no day, since days differ in length.
func setDuration(v reflect.Value, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no duration: write a number with its unit, such as 500ms, 30s or 24h", text)
	}
	v.SetInt(int64(d))
	return nil
}

// setBool takes true and false, and what strconv.ParseBool takes besides: variables are often 1 or 0.
func setBool(v reflect.Value, text string) error {
	b, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	v.SetBool(b)
	return nil
}

// setInt takes decimal digits only: 010 is ten, and 0x10 is a mistake.
func setInt(v reflect.Value, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%q is no whole number: write digits only, such as 1024", text)
	}
	v.SetInt(int64(n))
	return nil
}

// setFloat refuses NaN and infinity: no bound would catch them later.
func setFloat(v reflect.Value, text string) error {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%q is no number: write one such as 0.2", text)
	}
	v.SetFloat(f)
	return nil
}

// setList splits at commas; blanks around an item and empty items are dropped.
func setList(v reflect.Value, text string) {
	list := []string{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	v.Set(reflect.ValueOf(list).Convert(v.Type()))
}
