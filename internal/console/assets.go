package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
)

// htmx.min.js is htmx.org 2.0.11 as its npm package has it, unchanged; its licence (0BSD) stands beside it.
//
//go:embed assets/app.css assets/app.js assets/icon.svg assets/htmx.min.js assets/htmx.LICENSE
var assetFiles embed.FS

// assets are the files that pages name, under a path with their digest: a browser keeps each for good, and gets a
// changed one under another path.
type assets struct {
	digest string
	files  http.Handler
}

func newAssets() (assets, error) {
	files, err := fs.Sub(assetFiles, "assets")
	if err != nil {
		return assets{}, fmt.Errorf("opening the embedded assets: %w", err)
	}
	sum := sha256.New()
	err = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		sum.Write(text)
		return err
	})
	if err != nil {
		return assets{}, fmt.Errorf("reading the embedded assets: %w", err)
	}
	return assets{digest: hex.EncodeToString(sum.Sum(nil))[:12], files: http.FileServerFS(files)}, nil
}

// path is where pages find a file.
func (a assets) path(name string) string { return root + "assets/" + a.digest + "/" + name }

// ServeHTTP serves a file under the digest of these assets; under another, nothing.
func (a assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	digest, name := r.PathValue("digest"), r.PathValue("name")
	if digest != a.digest || name == "" || strings.Contains(name, "/") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	if strings.HasSuffix(name, ".LICENSE") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	r = r.Clone(r.Context())
	r.URL.Path = "/" + name
	a.files.ServeHTTP(w, r)
}
