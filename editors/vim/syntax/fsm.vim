" Colours for .fsm text. Words that are names in some places are keywords only where they open something.
if exists('b:current_syntax')
  finish
endif

syntax case match
syntax sync minlines=200

" What follows is made by `python -m fsmdsl.editor.word_lists`, from fsmdsl/syntax/words.py and the grammar.
syntax keyword fsmImport module import
syntax keyword fsmDeclaration machine system scenario enum opaque let param state event action invariant ignore amends
syntax keyword fsmModifier durable
syntax keyword fsmKeyword on after when do for if then else
syntax keyword fsmOperatorWord and or not in has all some
syntax keyword fsmConstant true false none
syntax keyword fsmSelf self
syntax keyword fsmType bool duration
syntax match fsmKeyword /\v<%(from|to)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmKeyword /\v<%(with)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmKeyword /\v<%(of)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmKeyword /\v%(<explore>\s+)@40<=<%(while)>/
syntax match fsmKeyword /\v%(<may>\s+)@40<=<%(rest)>%(\s+<%(when)>)@=/
syntax match fsmDeclaration /\v%(^\s*|<replaces>\s+)@40<=<%(layout)>%(\s+<%(columns|rows)>)@=/
syntax match fsmDeclaration /\v%(^\s*|<replaces>\s+)@40<=<%(priority)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmDeclaration /\v^\s*\zs<%(property)>%(\s+%(<%(after|and|do|else|for|has|in|on|or|then|when)>)@!\h|\s*[(0-9\[{])@=/
syntax match fsmDeclaration /\v^\s*\zs<%(reachable)>%(\s+%(<%(after|and|do|else|for|has|in|on|or|then|when)>)@!\h|\s*[(0-9\[{])@=/
syntax match fsmDeclaration /\v^\s*\zs<%(may)>%(\s+<%(rest)>)@=/
syntax match fsmDeclaration /\v^\s*\zs<%(start)>%(\s+<%(when|with)>)@=/
syntax match fsmDeclaration /\v^\s*\zs<%(explore)>%(\s+<%(while)>)@=/
syntax match fsmDeclaration /\v^\s*\zs<%(recover)>%(\s*[{])@=/
syntax match fsmDeclaration /\v^\s*\zs<%(channel|map|operation|record)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmDeclaration /\v^\s*\zs<%(environment|locks)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h|\s*[{])@=/
syntax match fsmKeyword /\v<%(add|remove)>%(\s+%(<%(after|and|do|else|for|has|in|on|or|then|when)>)@!\h|\s+[(0-9\[{])@=/
syntax match fsmKeyword /\v<%(send)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmImport /\v%(^\s*|"\s+)@40<=<%(at)>%(\s*["])@=/
syntax match fsmImport /\v^\s*\zs<%(source)>%(\s*["])@=/
syntax match fsmModifier /\v%(\:\s+|<duplicating>\s+|<lossy>\s+|<waiting>\s+)@40<=<%(duplicating|lossy|waiting)>%(\s+<%(bag|duplicating|fifo|lossy|waiting)>)@=/
syntax match fsmModifier /\v%(\:\s+|<duplicating>\s+|<lossy>\s+|<waiting>\s+)@40<=<%(bag|fifo)>%(\s*[\[])@=/
syntax match fsmModifier /\v%(\=\s+|<in>\s+)@40<=<%(any)>/
syntax match fsmModifier /\v%(<for>\s+|<from>\s+|<to>\s+)@40<=<%(each)>/
syntax match fsmModifier /\v%(<layout>\s+)@40<=<%(columns|rows)>/
syntax match fsmModifier /\v<%(async)>%(\s+<%(action)>)@=/
syntax match fsmModifier /\v<%(symmetric)>%(\s+%(<%(after|and|do|else|for|has|if|not|on|or|some|then|when)>)@!\h|\s*[{]|\s*%($|\}|\/\/))@=/
syntax match fsmModifier /\v<%(error|final|initial|persistent|resting|transient|volatile)>%(\s+<%(error|final|initial|persistent|resting|state|transient|volatile)>)@=/
syntax match fsmModifier /\v<%(read|write)>%(\s*[(])@=/
syntax match fsmModifier /\v<%(child)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmModifier /\v%(^\s*|"\s+)@40<=<%(replaces)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h|\s*[{]|\s*%($|\}|\/\/))@=/
syntax match fsmOperatorWord /\v<%(count)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmModifier /\v%(\:\s+|<property>\s+)@40<=<%(recovers)>/
syntax match fsmModifier /\v%(<between>\s+)@40<=<%(writes)>/
syntax match fsmModifier /\v%(<during>\s+)@40<=<%(recovery)>/
syntax match fsmModifier /\v%(<finitely>\s+)@40<=<%(many)>%(\s+<%(crashes)>)@=/
syntax match fsmModifier /\v%(<many>\s+)@40<=<%(crashes)>/
syntax match fsmModifier /\v<%(fair)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmModifier /\v<%(under)>%(\s+<%(fair|finitely|strong|weak)>)@=/
syntax match fsmModifier /\v<%(strong|weak)>%(\s+<%(fair)>)@=/
syntax match fsmModifier /\v<%(finitely)>%(\s+<%(many)>)@=/
syntax match fsmModifier /\v<%(during)>%(\s+<%(recovery)>)@=/
syntax match fsmModifier /\v<%(between)>%(\s+<%(writes)>)@=/
syntax match fsmModifier /\v<%(extends|refines)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmKeyword /\v%(^\s*|<fails>\s+|<fair>\s+)@40<=<%(deliver)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmKeyword /\v%(^\s*|<fails>\s+)@40<=<%(timeout)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmKeyword /\v%(^\s*|<fails>\s+)@40<=<%(duplicate|lose)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmKeyword /\v^\s*\zs<%(expect)>%(\s+%(<%(after|and|do|else|for|has|in|on|or|then|when)>)@!\h|\s*[(0-9\[{])@=/
syntax match fsmKeyword /\v^\s*\zs<%(fails)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmKeyword /\v^\s*\zs<%(via)>%(\s+%(<%(after|and|do|else|for|has|if|in|not|on|or|some|then|when)>)@!\h)@=/
syntax match fsmTemporal /\v<%(always|eventually|next)>%(\s+%(<%(after|and|do|else|for|has|in|on|or|then|when)>)@!\h|\s*[(0-9])@=/
syntax match fsmTemporal /\v<%(until)>%(\s+%(<%(after|and|do|else|for|has|in|on|or|then|when)>)@!\h|\s*[(0-9\[{])@=/
syntax match fsmType /\v<%(list|map|set)>%(\s*[<])@=/
" end of what is made
syntax match fsmKeyword /\<on\s\+\%(entry\|exit\)\>\ze\s*(/
syntax match fsmKeyword /\<on\s\+crash\>/
syntax match fsmKeyword /^\s*\zscrash\>\ze\%(\s\+\%(between\|during\|when\)\>\|\s*$\|\s*\/\/\)/
syntax match fsmKeyword /\<crash\>\ze\s\+of\s\+\h/

syntax match fsmStateName /\%(->\s*\)\@<=\h\w*/
syntax match fsmStateName /\%(\<state\s\+\)\@<=\h\w*/
syntax match fsmLabel /^\s*\zs\h\w*\ze\s*:[^=]*\%(->\|\<on\>\|\<after\>\)/
syntax match fsmNumber /\<\d\+\%(ms\|s\|min\|h\|d\)\?\>/
syntax match fsmOperator /\~>\|=>\|->\|==\|!=\|<=\|>=\|\.\./
syntax region fsmString start=/"/ skip=/\\./ end=/"/ oneline
syntax match fsmComment /\/\/.*$/ contains=@Spell,fsmTodo
syntax match fsmDoc /\/\/\/\/\@!.*$/ contains=@Spell
syntax keyword fsmTodo contained TODO FIXME

highlight default link fsmDeclaration Structure
highlight default link fsmKeyword Statement
highlight default link fsmModifier StorageClass
highlight default link fsmOperatorWord Operator
highlight default link fsmOperator Operator
highlight default link fsmTemporal Special
highlight default link fsmImport Include
highlight default link fsmConstant Constant
highlight default link fsmSelf Identifier
highlight default link fsmType Type
highlight default link fsmStateName Constant
highlight default link fsmLabel Label
highlight default link fsmNumber Number
highlight default link fsmString String
highlight default link fsmComment Comment
highlight default link fsmDoc SpecialComment
highlight default link fsmTodo Todo

let b:current_syntax = 'fsm'
