package aliyun

import _ "embed"

// codes says what each code means; channels.ReadTable reads it.
//
//go:embed codes.txt
var codes string
