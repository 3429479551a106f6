" Colours for .fsm text. Words that are names in some places are keywords only where they open something.
if exists('b:current_syntax')
  finish
endif

syntax case match
syntax sync minlines=200

syntax keyword fsmDeclaration action amends channel enum event ignore invariant let machine opaque param record scenario state system
syntax keyword fsmKeyword after do else for if on then when
syntax keyword fsmOperatorWord all and has in not or some
syntax keyword fsmModifier durable
syntax keyword fsmImport import module
syntax keyword fsmConstant false none true
syntax keyword fsmSelf self

" Words that may be names: only where they stand as the language has them.
syntax match fsmModifier /\<\%(initial\|final\|persistent\|volatile\|transient\|error\)\>\ze\%(\s\+\%(initial\|final\|persistent\|volatile\|transient\|error\)\>\)*\s\+state\>/
syntax match fsmModifier /\<\%(symmetric\|async\|replaces\|lossy\|duplicating\|waiting\|fifo\|bag\)\>\ze\%(\s*$\|\s*[{[]\|\s\+\w\|\s*\/\/\)/
syntax match fsmModifier /\<\%(read\|write\)\>\ze\s*(/
syntax match fsmModifier /=\s*\zsany\>\ze\s*\%($\|[,}]\|\/\/\)/
syntax match fsmDeclaration /^\s*\zsstart\>\ze\s\+\%(when\|with\)\>/
syntax match fsmDeclaration /^\s*\zsexplore\>\ze\s\+while\>/
syntax match fsmKeyword /\%(^\s*explore\s\+\)\@<=while\>/
syntax match fsmModifier /\<child\>\ze\s\+\h/
syntax match fsmModifier /\<to\s\+\zseach\>\ze\s\+\h/
syntax match fsmDeclaration /^\s*\zs\%(environment\|recover\|locks\|operation\)\>\ze\%(\s\+\h\w*\)\?\s*{/
syntax match fsmDeclaration /^\s*\zs\%(property\|reachable\|priority\|layout\)\>\ze\s\+[[:alnum:](]/
syntax match fsmDeclaration /^\s*\zsmap\>\ze\s\+\h\w*\s*\%(\[\|\.\|in\>\)/
syntax match fsmModifier /^\s*layout\s\+\zs\%(rows\|columns\)\>/
syntax match fsmKeyword /^\s*\zs\%(expect\|fails\|via\|timeout\|deliver\|lose\|duplicate\)\>\ze\s\+[[:alnum:]({]/
syntax match fsmKeyword /\<\%(add\|remove\|send\)\>\ze\s\+\%(\h\|[{(]\)/
syntax match fsmKeyword /\<\%(from\|to\|of\)\>\ze\s\+\h/
syntax match fsmKeyword /\<with\>\ze\s\+\l\+\s*$/
syntax match fsmKeyword /\<on\s\+\%(entry\|exit\)\>\ze\s*(/
syntax match fsmKeyword /\<on\s\+crash\>/
syntax match fsmKeyword /^\s*\zscrash\>\ze\%(\s\+\%(between\|during\|when\)\>\|\s*$\|\s*\/\/\)/
syntax match fsmKeyword /\<crash\>\ze\s\+of\s\+\h/
syntax match fsmModifier /\<\%(between\s\+writes\|during\s\+recovery\)\>/
syntax match fsmOperatorWord /\<count\>\ze\s\+\h\w*\s\+in\>/
syntax match fsmTemporal /\<\%(always\|eventually\|next\|until\)\>\ze\s*[(A-Za-z_]/
syntax match fsmModifier /\%(^system\s\+\h\w*\s\+\)\@<=\%(extends\|refines\)\>/
syntax match fsmModifier /\%(\<extends\s\+[A-Za-z0-9_.]\+\s\+\)\@<=refines\>/
syntax match fsmDeclaration /^\s*\zsenvironment\>\ze\s\+\h/
syntax match fsmTemporal /\<recovers\>/
syntax match fsmModifier /\<under\>\ze\s\+\%(weak\|strong\|fair\|finitely\)\>/
syntax match fsmModifier /\<finitely\s\+many\s\+crashes\>/
syntax match fsmModifier /\<for\s\+each\>/
syntax match fsmModifier /\<\%(weak\|strong\)\>\ze\s\+fair\>/
syntax match fsmModifier /\<fair\>\ze\s\+\h/
syntax match fsmImport /^\s*\zssource\>\ze\s\+"/
syntax match fsmImport /"\s\+\zsat\>\ze\s\+"/
syntax match fsmType /\<\%(set\|list\|map\)\>\ze\s*</
syntax match fsmType /\<\%(bool\|duration\)\>/

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
