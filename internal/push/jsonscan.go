package push

// scan reads text as one JSON object (RFC 8259), names and values as pieces of it. It is one pass that checks, splits and
// bounds the nesting at once; false says only that the text is no such object. usual is how many members such objects have.
func scan(text string, usual int) (object, bool) {
	s := scanner{text: text}
	s.space()
	if !s.take('{') {
		return nil, false
	}
	o := make(object, 0, usual)
	ok := s.members('}', 1, func(name, value string) { o = append(o, member{name, value}) })
	s.space()
	return o, ok && s.at == len(text)
}

// scanner is at one place of a text.
type scanner struct {
	text string
	at   int
}

// take passes c over, if it comes next.
func (s *scanner) take(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// members passes over what is in an object or array, behind its opening bracket, to its closing one; depth is its own. found
// hears of each member, with the name unquoted; of an array's elements, without a name. It may be nil.
func (s *scanner) members(closing byte, depth int, found func(name, value string)) bool {
	if s.space(); depth > maxDepth || s.take(closing) {
		return depth <= maxDepth
	}
	for {
		name, begin := "", s.at
		if closing == '}' {
			if !s.quoted() {
				return false
			}
			if found != nil {
				name, _ = unquote(s.text[begin:s.at])
			}
			if s.space(); !s.take(':') {
				return false
			}
			s.space()
			begin = s.at
		}
		if !s.value(depth) {
			return false
		}
		if found != nil {
			found(name, s.text[begin:s.at])
		}
		if s.space(); s.take(closing) {
			return true
		}
		if !s.take(',') {
			return false
		}
		s.space()
	}
}

// value passes over one value, in something of that depth.
func (s *scanner) value(depth int) bool {
	if s.at == len(s.text) {
		return false
	}
	switch s.text[s.at] {
	case '"':
		return s.quoted()
	case '{':
		s.at++
		return s.members('}', depth+1, nil)
	case '[':
		s.at++
		return s.members(']', depth+1, nil)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

func (s *scanner) word(w string) bool {
	end := s.at + len(w)
	if end > len(s.text) || s.text[s.at:end] != w {
		return false
	}
	s.at = end
	return true
}

// quoted passes over a string.
func (s *scanner) quoted() bool {
	if !s.take('"') {
		return false
	}
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == '"':
			return true
		case c < ' ':
			return false
		case c == '\\' && !s.escape():
			return false
		}
	}
	return false
}

// escape passes over what follows a backslash.
func (s *scanner) escape() bool {
	if s.at == len(s.text) {
		return false
	}
	c := s.text[s.at]
	s.at++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		_, ok := codeUnit(s.text[s.at-2:])
		s.at += 4
		return ok
	}
	return false
}

// number passes over a number.
func (s *scanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		_ = s.take('+') || s.take('-')
		return s.digits()
	}
	return true
}

// digits passes over one digit at least.
func (s *scanner) digits() bool {
	begin := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at > begin
}
