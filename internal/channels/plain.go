package channels

import "text/template/parse"

// piece is a part of a plain text: words as they stand, or the variable of that name.
type piece struct {
	words    string
	variable string // not empty: a variable
}

// pieces parts a template that is nothing but words and variables, as nearly all are; ok is false for any other. Such a
// text is written without text/template's reflection.
func pieces(tree *parse.Tree) (parts []piece, ok bool) {
	if tree == nil || tree.Root == nil {
		return nil, true
	}
	for _, node := range tree.Root.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			parts = append(parts, piece{words: string(n.Text)})
		case *parse.ActionNode:
			name, plain := variable(n.Pipe)
			if !plain {
				return nil, false
			}
			parts = append(parts, piece{variable: name})
		default:
			return nil, false
		}
	}
	return parts, true
}

// variable is the name in {{.name}}.
func variable(pipe *parse.PipeNode) (name string, ok bool) {
	if len(pipe.Decl) > 0 || len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) != 1 {
		return "", false
	}
	field, ok := pipe.Cmds[0].Args[0].(*parse.FieldNode)
	if !ok || len(field.Ident) != 1 {
		return "", false
	}
	return field.Ident[0], true
}

// write writes a plain text; ok is false where a variable is missing.
func write(parts []piece, vars map[string]string) (text string, ok bool) {
	if len(parts) == 1 && parts[0].variable != "" {
		text, ok = vars[parts[0].variable]
		return text, ok
	}
	size := 0
	for _, p := range parts {
		size += len(p.words)
		if p.variable != "" {
			value, there := vars[p.variable]
			if !there {
				return "", false
			}
			size += len(value)
		}
	}
	out := make([]byte, 0, size)
	for _, p := range parts {
		out = append(append(out, p.words...), vars[p.variable]...)
	}
	return string(out), true
}
