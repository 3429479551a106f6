; Colours for .fsm text. Later patterns come before earlier ones where both match.

(comment) @comment
(doc_comment) @comment.documentation
(string) @string
[(integer) (time)] @number

(name) @variable

; What follows is made by `python -m fsmdsl.editor.word_lists`, from fsmdsl/syntax/words.py and the grammar.
["module" "import"] @keyword
["machine" "system" "scenario" "enum" "opaque" "let" "param" "state" "event" "action" "invariant" "ignore" "amends"] @keyword
["durable"] @keyword.modifier
["on" "after" "when" "do" "for" "if" "then" "else"] @keyword
["and" "or" "not" "in" "has" "all" "some"] @keyword.operator
["true" "false" "none"] @constant.builtin
["self"] @variable.builtin
(source "source" @keyword)
(source "at" @keyword)
(record "record" @keyword)
(channel "channel" @keyword)
(locks "locks" @keyword)
(operation "operation" @keyword)
(property "property" @keyword)
(reachable "reachable" @keyword)
(priority "priority" @keyword)
(layout "layout" @keyword)
(map_field "map" @keyword)
(map_state "map" @keyword)
(map_type "map" @type.builtin)
(start_when "start" @keyword)
(start_with "start" @keyword)
(may_rest_when "may" @keyword)
(explore_while "explore" @keyword)
(environment "environment" @keyword)
(environment_use "environment" @keyword)
(shared_environment "environment" @keyword)
(recover "recover" @keyword)
(state_flag "initial" @keyword.modifier)
(state_flag "final" @keyword.modifier)
(state_flag "resting" @keyword.modifier)
(state_flag "persistent" @keyword.modifier)
(state_flag "volatile" @keyword.modifier)
(state_flag "transient" @keyword.modifier)
(state_flag "error" @keyword.modifier)
(async "async" @keyword.modifier)
(replaces "replaces" @keyword.modifier)
(layout_way "rows" @keyword.modifier)
(layout_way "columns" @keyword.modifier)
(any "any" @keyword.modifier)
(channel_flag "lossy" @keyword.modifier)
(channel_flag "duplicating" @keyword.modifier)
(channel_flag "waiting" @keyword.modifier)
(channel_order "fifo" @keyword.modifier)
(channel_order "bag" @keyword.modifier)
(each "each" @keyword.modifier)
(for_each "each" @keyword.modifier)
(symmetric "symmetric" @keyword.modifier)
(lock_mode "read" @keyword.modifier)
(lock_mode "write" @keyword.modifier)
(child "child" @keyword.modifier)
(extends "extends" @keyword.modifier)
(refines "refines" @keyword.modifier)
(under "under" @keyword.modifier)
(strength "weak" @keyword.modifier)
(strength "strong" @keyword.modifier)
(fairness "fair" @keyword.modifier)
(finite "finitely" @keyword.modifier)
(finite "many" @keyword.modifier)
(finite "crashes" @keyword.modifier)
(recovers "recovers" @keyword.modifier)
(crash_kind "between" @keyword.modifier)
(crash_kind "writes" @keyword.modifier)
(crash_kind "during" @keyword.modifier)
(crash_kind "recovery" @keyword.modifier)
(may_rest_when "rest" @keyword)
(explore_while "while" @keyword)
(origin "from" @keyword)
(queue_between "from" @keyword)
(remove "from" @keyword)
(senders "from" @keyword)
(add "to" @keyword)
(channel "to" @keyword)
(queue_between "to" @keyword)
(to "to" @keyword)
(crash_of "of" @keyword)
(of "of" @keyword)
(queue_of "of" @keyword)
(state_type "of" @keyword)
(timer_name "of" @keyword)
(fails "with" @keyword)
(start_with "with" @keyword)
(add "add" @keyword)
(remove "remove" @keyword)
(post "send" @keyword)
(expect "expect" @keyword)
(fails "fails" @keyword)
(via "via" @keyword)
(elapse "timeout" @keyword)
(delivery "deliver" @keyword)
(transmission "deliver" @keyword)
(transmission "lose" @keyword)
(transmission "duplicate" @keyword)
(quantifier "count" @keyword.operator)
(always "always" @keyword.operator)
(eventually "eventually" @keyword.operator)
(next "next" @keyword.operator)
(until "until" @keyword.operator)
(set_type "set" @type.builtin)
(list_type "list" @type.builtin)
; end of what is made
["if" "then" "else"] @keyword.conditional
(on_entry) @keyword
(on_exit) @keyword

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
