package channels

import (
	"maps"
	"slices"
	"text/template/parse"
)

// Variables lists the event's variables that the text names, sorted.
func (t *Text) Variables() []string {
	names := map[string]bool{}
	if t.template.Tree != nil {
		collect(t.template.Root, names)
	}
	return slices.Sorted(maps.Keys(names))
}

// collect notes each name that hangs on the dot or on $; variables are texts, so nothing hangs on them in turn.
func collect(node parse.Node, names map[string]bool) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			each(n.Nodes, names)
		}
	case *parse.ActionNode:
		collect(n.Pipe, names)
	case *parse.PipeNode:
		if n != nil {
			each(n.Cmds, names)
		}
	case *parse.CommandNode:
		each(n.Args, names)
	case *parse.FieldNode:
		names[n.Ident[0]] = true
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			names[n.Ident[1]] = true
		}
	case *parse.ChainNode:
		collect(n.Node, names)
	case *parse.IfNode:
		branch(n.BranchNode, names)
	case *parse.WithNode:
		branch(n.BranchNode, names)
	case *parse.RangeNode:
		branch(n.BranchNode, names)
	}
}

func branch(n parse.BranchNode, names map[string]bool) {
	collect(n.Pipe, names)
	collect(n.List, names)
	collect(n.ElseList, names)
}

func each[N parse.Node](nodes []N, names map[string]bool) {
	for _, n := range nodes {
		collect(n, names)
	}
}
