package dedup

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script, not a safeguard
	_ "embed"
	"encoding/hex"
	"strings"
)

// The scripts; each file is headed by its contract. key.lua comes before every one of them, become.lua and text.lua
// before those that need them.
var (
	//go:embed key.lua
	keyLua string
	//go:embed become.lua
	becomeLua string
	//go:embed text.lua
	textLua string
	//go:embed claim.lua
	claimLua string
	//go:embed renew.lua
	renewLua string
	//go:embed settle.lua
	settleLua string
	//go:embed release.lua
	releaseLua string
	//go:embed repair.lua
	repairLua string
	//go:embed inspect.lua
	inspectLua string
)

// script is a whole script and the name under which Redis caches it. Both are strings, as arguments of a command, so that
// no call makes them such.
type script struct {
	source any
	sha    any
}

func newScript(parts ...string) script { return scriptOf(keyLua + strings.Join(parts, "")) }

func scriptOf(source string) script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // as above
	return script{source: source, sha: hex.EncodeToString(sum[:])}
}
