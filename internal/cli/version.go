package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Versioned gives a program its --version: name, version and the Go that built it.
func Versioned(cmd *cobra.Command) {
	cmd.Version = VersionLine(cmd.Name())
	cmd.SetVersionTemplate("{{.Version}}\n")
}

// VersionLine is what --version prints.
func VersionLine(name string) string {
	return fmt.Sprintf("%s %s %s", name, Version(), runtime.Version())
}

// Version is the module's version, or the commit that the program was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return version(info)
}

// version reads what the linker wrote down.
func version(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	switch {
	case info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	case revision == "":
		return "devel"
	case settings["vcs.modified"] == "true":
		return revision[:min(12, len(revision))] + "+changes"
	}
	return revision[:min(12, len(revision))]
}
