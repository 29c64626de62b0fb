package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestSecretsAreHiddenInEveryPrintedForm(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Redis.Password, c.Postgres.URL = "hunter2", "postgres://u:hunter2@h/db"
	forms := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		forms[verb] = fmt.Sprintf(verb, c.Redis) + fmt.Sprintf(verb, c.Postgres.URL) + fmt.Sprintf(verb, &c.Redis)
	}
	marshals := map[string]func(any) ([]byte, error){"json": json.Marshal, "yaml": yaml.Marshal}
	for name, marshal := range marshals {
		text, err := marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		forms[name] = string(text)
	}
	for form, text := range forms {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) || !strings.Contains(text, hidden) {
			t.Errorf("%s shows %s", form, text)
		}
	}
}

func TestAbsentSecretLooksAbsent(t *testing.T) {
	t.Parallel()
	if got := fmt.Sprint(Secret("")); got != "" {
		t.Errorf("got %q", got)
	}
}
