package dedup

import (
	"crypto/sha1" //nolint:gosec // the name that Redis gives a script, not a safeguard
	_ "embed"
	"encoding/hex"
)

// The scripts; each file is headed by its contract. key.lua comes before every one of them.
var (
	//go:embed key.lua
	keyLua string
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

// script is a whole script and the name under which Redis caches it.
type script struct {
	source string
	sha    string
}

func newScript(body string) script { return scriptOf(keyLua + body) }

func scriptOf(source string) script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // as above
	return script{source: source, sha: hex.EncodeToString(sum[:])}
}
