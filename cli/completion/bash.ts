import { byChoices, type Candidate, type CompletionPlace, steps } from './tree.ts';

/** Returns a script that bash sources once; pressing TAB starts no program. */
export function bashCompletion(places: readonly CompletionPlace[]): string {
  return `# Completion of millrace for bash:  source <(npx millrace completion bash)
_millrace_values() {
  case "$1 $2" in
${byChoices(places)
  .map(({ keys, choices }) => `    ${keys.map(quote).join('|')}) values='${choices.join(' ')}' ;;`)
  .join('\n')}
    *) return 1 ;;
  esac
}

_millrace_words() {
  case "$1" in
${places.map(wordsOf).join('\n')}
  esac
}

${WALK.replace('STEPS', steps(places).map(quote).join('|'))}
complete -F _millrace millrace
complete -p npx >/dev/null 2>&1 || complete -o bashdefault -o default -F _millrace npx`;
}

// Uses only features of bash 3.2, the version on macOS.
const WALK = `_millrace() {
  local -a typed=()
  local piece glued='' place='' option='' words='' options='' values='' current before='' index
  COMPREPLY=()
  # bash splits words at : and =
  for piece in "\${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [[ \${#typed[@]} -gt 0 && ( -n $glued || $piece == [=:]* ) ]]; then
      typed[\${#typed[@]}-1]+=$piece
    else
      typed+=("$piece")
    fi
    if [[ $piece == *[=:] ]]; then glued=yes; else glued=''; fi
  done
  if [[ \${typed[0]##*/} == npx ]]; then
    typed=("\${typed[@]:1}")
    while [[ \${typed[0]:-} == -* ]]; do typed=("\${typed[@]:1}"); done
    [[ \${typed[0]:-} == millrace && \${#typed[@]} -gt 1 ]] || return
  fi
  current=\${typed[\${#typed[@]}-1]}
  for ((index = 1; index < \${#typed[@]} - 1; index++)); do
    if [[ -n $option ]]; then
      option=''
    elif [[ \${typed[index]} == -* ]]; then
      if _millrace_values "$place" "\${typed[index]}"; then option=\${typed[index]}; fi
    else
      case "$place \${typed[index]}" in
        STEPS) place="\${place:+$place }\${typed[index]}" ;;
      esac
    fi
  done
  piece=$current
  if [[ -z $option && $current == -*=* ]]; then
    option=\${current%%=*} before=\${current%%=*}= piece=\${current#*=}
  fi
  if [[ -n $option ]]; then
    _millrace_values "$place" "$option" || return
    before+=\${piece%"\${piece##*,}"} words=$values piece=\${piece##*,}
  else
    _millrace_words "$place"
    if [[ $current == -* || -z $words ]]; then words=$options; fi
  fi
  COMPREPLY=($(compgen -P "$before" -W "$words" -- "$piece"))
  # bash replaces only the part after the last : or =.
  piece=\${COMP_WORDS[COMP_CWORD]}
  if [[ $piece == [=:] ]]; then piece=''; fi
  before=\${current%"$piece"}
  if [[ \${#COMPREPLY[@]} -gt 0 && -n $before ]]; then COMPREPLY=("\${COMPREPLY[@]#"$before"}"); fi
}`;

function wordsOf({ path, commands, choices, options }: CompletionPlace): string {
  return `    ${quote(path)}) words='${listOf([...commands, ...choices])}' options='${listOf(options)}' ;;`;
}

function listOf(candidates: readonly Candidate[]): string {
  return candidates.map(({ word }) => word).join(' ');
}

/** No word contains a quote. */
function quote(text: string): string {
  return `'${text}'`;
}
