package config

import (
	"os"
	"reflect"
	"slices"
	"strings"
)

// Lookup finds an environment variable; os.LookupEnv is one.
type Lookup func(name string) (string, bool)

// Variable names the configuration file, where no flag does.
const Variable = "PUSHER_CONFIG"

// Load reads the file at path (none when path is empty), then the PUSHER_* variables, then the files of secrets, and
// checks the whole. environ (as os.Environ gives it) is looked through for variables that mean nothing: these only
// warn. An error is always an *Error.
func Load(path string, lookup Lookup, environ []string) (*Config, []Warning, error) {
	c, d := Default(), newDecoder(path)
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			d.problemAtf(0, "", "cannot be read: %v", cause(err))
			return nil, nil, asError(d.problems)
		}
		d.decode(text, c)
	}
	all := leaves(reflect.ValueOf(c).Elem(), "")
	d.contradictory(all)
	d.override(all, lookup)
	d.readSecrets(all)
	c.complete()
	c.Telemetry.Traces = c.Telemetry.Traces.standard(lookup)
	c.places = d.places
	for _, p := range c.validate() {
		if !d.reported(p.Key) {
			d.problems = append(d.problems, p)
		}
	}
	warnings := unknown(all, environ)
	if err := asError(d.problems); err != nil {
		return nil, warnings, err
	}
	return c, warnings, nil
}

// contradictory finds secrets given in the file both ways.
func (d *decoder) contradictory(all []leaf) {
	for _, l := range all {
		if _, ok := d.files[l.key]; ok && isSecret(l.value.Type()) && l.value.String() != "" {
			d.problems = append(d.problems, d.places.problem(l.key+fileSuffix, "%s is given too: keep one of the two", l.key))
		}
	}
}

// override lets each variable that is set and not empty win over the file. A secret may also come as the path of a
// file, in <VARIABLE>_FILE.
func (d *decoder) override(all []leaf, lookup Lookup) {
	for _, l := range all {
		name := variable(l.key)
		text, _ := lookup(name)
		if text != "" {
			d.places[l.key] = place{source: name}
			delete(d.files, l.key)
			if err := set(l.value, text); err != nil {
				d.problems = append(d.problems, d.places.problem(l.key, "%v", err))
			}
		}
		if path, _ := lookup(name + strings.ToUpper(fileSuffix)); path != "" && isSecret(l.value.Type()) {
			d.places[l.key+fileSuffix] = place{source: name + strings.ToUpper(fileSuffix)}
			d.files[l.key] = path
			if text != "" {
				d.problems = append(d.problems, d.places.problem(l.key+fileSuffix, "%s is set too: keep one of the two", name))
			}
		}
	}
}

// readSecrets fills in the secrets that are kept in files; one newline at the end is the editor's, not the secret's.
func (d *decoder) readSecrets(all []leaf) {
	for _, l := range all {
		path := d.files[l.key]
		if path == "" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			d.problems = append(d.problems, d.places.problem(l.key+fileSuffix, "reading %s: %v", path, cause(err)))
			continue
		}
		l.value.SetString(strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"))
		d.places[l.key] = d.places[l.key+fileSuffix]
	}
}

// reported reports whether a problem of this key, or of a section around it, is known already: what follows from it is
// no news.
func (d *decoder) reported(key string) bool {
	return slices.ContainsFunc(d.problems, func(p Problem) bool {
		known := strings.TrimSuffix(p.Key, fileSuffix)
		return known == "" || key == known || strings.HasPrefix(key, known+".")
	})
}

// unknown lists the PUSHER_* variables that name no setting. They only warn: Kubernetes makes such names for a service
// called "pusher".
func unknown(all []leaf, environ []string) []Warning {
	known := map[string]bool{Variable: true}
	for _, l := range all {
		known[variable(l.key)] = true
		if isSecret(l.value.Type()) {
			known[variable(l.key+fileSuffix)] = true
		}
	}
	var warnings []Warning
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PUSHER_") && !known[name] {
			warnings = append(warnings, Warning(name+": no setting has this name; ignored"))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// cause drops the path that os errors repeat.
func cause(err error) error {
	if e, ok := err.(*os.PathError); ok { //nolint:errorlint // os.ReadFile's own, never wrapped
		return e.Err
	}
	return err
}
