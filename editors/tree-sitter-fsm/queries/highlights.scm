; Colours for .fsm text. Later patterns come before earlier ones where both match.

(comment) @comment
(doc_comment) @comment.documentation
(string) @string
[(integer) (time)] @number
(truth) @constant.builtin
(self) @variable.builtin

(name) @variable

[
  "module" "import" "source" "enum" "opaque" "let" "machine" "channel" "locks" "operation" "system" "scenario"
  "param" "state" "event" "action" "priority" "invariant" "amends" "environment" "property" "reachable" "start"
  "explore"
] @keyword

["ignore" "on" "after" "when" "do" "in" "from" "to" "of" "expect" "fails" "via" "timeout" "with" "while" "under" "recovers"] @keyword
["for" "add" "remove" "send" "map" "deliver"] @keyword
["if" "then" "else"] @keyword.conditional
(on_entry) @keyword
(on_exit) @keyword
(recover "recover" @keyword)
(transmission) @keyword
(crash_kind) @keyword

[(state_flag) (durable) (async) (symmetric) (replaces) (child) (each) (lock_mode) (channel_flag) (channel_order) (strength) (any)] @keyword.modifier
["extends" "fair" "refines"] @keyword.modifier

["and" "or" "not" "until" "always" "eventually" "next" "has"] @keyword.operator
(quantifier) @keyword.operator
["->" "=>" "~>" "=" "==" "!=" "<" "<=" ">" ">=" "+" "-" "*" "&" "|" ".." "?"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":" "." ";"] @punctuation.delimiter

(module_line (path) @module)
(import (path) @module)
(machine (name) @type)
(opaque (name) @type)
(enum (name) @type)
(named_type) @type
(enum_member (name) @constant)
["set" "list"] @type.builtin

(state (name) @constant)
(edge (name) @constant)
(sources (name) @constant)
(in_state (name) @constant)
(labelled (name) @label)
(label (name) @label)
(via (name) @label)

(field (name) @property)
(param (name) @property)
(instance (name) @variable)
(parameter (name) @variable.parameter)
(binder (name) @variable.parameter)
(signature (name) @function)
(event_path (name) @function)
(call (name) @function.call)
(call (member (name) @function.call .))
(let (name) @function)
(system (name) @module)
(scenario (name) @module)
