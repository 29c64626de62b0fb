package push

import "errors"

// ErrRefused marks an item that PostgreSQL refuses for its own data (SQLSTATE classes 21, 22, 23, 54): trying it again
// changes nothing.
var ErrRefused = errors.New("refused for its own data")
