import { byChoices, type Candidate, type CompletionPlace, steps } from './tree.ts';

/** Returns a script that zsh sources once, after compinit. */
export function zshCompletion(places: readonly CompletionPlace[]): string {
  return `#compdef millrace
# Completion of millrace for zsh:  source <(npx millrace completion zsh)
_millrace_values() {
  case "$1 $2" in
${byChoices(places)
  .map(({ keys, choices }) => `    ${keys.map(quote).join('|')}) values=(${choices.map(quote).join(' ')}) ;;`)
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
if ! whence compdef >/dev/null; then autoload -Uz compinit && compinit; fi
compdef _millrace millrace
if (( ! \${+_comps[npx]} )); then compdef _millrace npx; fi`;
}

const WALK = `_millrace() {
  local -a typed values commands options
  local place='' option='' word
  typed=("\${(@)words[1,CURRENT-1]}")
  if [[ \${typed[1]:t} == npx ]]; then
    shift typed
    while [[ \${typed[1]} == -* ]]; do shift typed; done
    if [[ \${typed[1]} != millrace ]]; then _default; return; fi
  fi
  for word in "\${(@)typed[2,-1]}"; do
    if [[ -n $option ]]; then
      option=''
    elif [[ $word == -* ]]; then
      if _millrace_values "$place" "$word"; then option=$word; fi
    else
      case "$place $word" in
        STEPS) place="\${place:+$place }$word" ;;
      esac
    fi
  done
  if [[ -z $option && $PREFIX == -*=* ]]; then
    option=\${PREFIX%%=*}
    compset -P 1 '*='
  fi
  if [[ -n $option ]]; then
    _millrace_values "$place" "$option" || return
    compset -P '*,'
    compadd -a values
    return
  fi
  _millrace_words "$place"
  if [[ $PREFIX == -* || \${#commands} -eq 0 ]]; then
    _describe -o option options
  else
    _describe command commands
  fi
}`;

function wordsOf({ path, commands, choices, options }: CompletionPlace): string {
  return `    ${quote(path)}) commands=(${listOf([...commands, ...choices])}) options=(${listOf(options)}) ;;`;
}

/** Returns each word and its description, separated by a colon. */
function listOf(candidates: readonly Candidate[]): string {
  return candidates
    .map(({ word, description }) => quote(`${word.replaceAll(':', '\\:')}:${description.replaceAll(':', '\\:')}`))
    .join(' ');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
