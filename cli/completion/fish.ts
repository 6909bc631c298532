import { byChoices, type Candidate, type CompletionPlace, steps } from './tree.ts';

/** Returns a script that fish sources once. */
export function fishCompletion(places: readonly CompletionPlace[]): string {
  return `# Completion of millrace for fish:  npx millrace completion fish | source
function __millrace_values -a place option
    switch "$place $option"
${byChoices(places)
  .map(({ keys, choices }) => `        case ${keys.map(quote).join(' ')}\n            ${valuesOf(choices)}`)
  .join('\n')}
        case '*'
            return 1
    end
end

function __millrace_words -a place
    switch "$place"
${places.map(wordsOf).join('\n')}
    end
end

${WALK.replace('STEPS', steps(places).map(quote).join(' '))}
complete -c millrace -f -a '(__millrace_complete (commandline -opc))'
complete -c npx -n __millrace_by_npx -f -a '(__millrace_complete (__millrace_by_npx))'`;
}

const WALK = `# Prints the words after npx and its options, if the first of them is millrace.
function __millrace_by_npx
    set -l typed (commandline -opc)
    set -e typed[1]
    while string match -q -- '-*' $typed[1]
        set -e typed[1]
    end
    if test "$typed[1]" != millrace
        return 1
    end
    printf '%s\\n' $typed
end

function __millrace_complete
    set -l place ''
    set -l option ''
    for word in $argv[2..-1]
        if test -n "$option"
            set option ''
        else if string match -q -- '-*' $word
            if __millrace_values "$place" $word >/dev/null
                set option $word
            end
        else
            switch "$place $word"
                case STEPS
                    set place (string trim -- "$place $word")
            end
        end
    end
    set -l current (commandline -ct)
    set -l before ''
    if test -z "$option"; and string match -q -- '-*=*' $current
        set option (string split -m 1 = -- $current)[1]
        set before "$option="
    end
    if test -z "$option"
        __millrace_words "$place"
        return
    end
    set -l value (string sub -s (math (string length -- $before) + 1) -- $current)
    set before $before(string match -r -- '^.*,|^' $value)
    for choice in (__millrace_values "$place" $option)
        echo $before$choice
    end
end`;

function wordsOf({ path, commands, choices, options }: CompletionPlace): string {
  const lines = [...commands, ...choices, ...options].flatMap(({ word, description }: Candidate) => [
    word,
    description,
  ]);
  return `        case ${quote(path)}\n            printf '%s\\t%s\\n' ${lines.map(quote).join(' ')}`;
}

function valuesOf(choices: readonly string[]): string {
  return choices.length === 0 ? 'true' : `printf '%s\\n' ${choices.map(quote).join(' ')}`;
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
